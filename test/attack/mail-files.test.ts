import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { crc32, deflateRawSync, gzipSync } from 'node:zlib'
import { memoryOf } from '../chaos/raw-http.ts'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { startDovecot } from '../fixtures/dovecot.ts'
import { deliver } from '../fixtures/smtp-server.ts'
import { until } from '../fixtures/until.ts'

const MB = 1024 * 1024
const ADDRESS = 'bombs@example.com'
const ZEROS = Buffer.alloc(512 * MB)

/**
 * Maximum growth of the daemon's memory by one mail (MB): a few copies of it, but not its unpacked
 * content.
 */
const BOUND = 150

type File = { type: string; name: string; content: Buffer }

const FILES: Record<string, File> = {
  'a ZIP bomb': { type: 'application/zip', name: 'bomb.zip', content: zipOf('zeros', ZEROS) },
  'a gzip bomb': { type: 'application/gzip', name: 'bomb.gz', content: gzipSync(ZEROS) },
  'a document of 15 MB': { type: 'application/pdf', name: 'a.pdf', content: ZEROS.subarray(0, 15 * MB) },
}

describe('a mail with a file that unpacks to much more', { timeout: 300_000 }, async () => {
  const dovecot = await startDovecot()
  const site = openSite({ ownProcess: 'measured', routes: routesFor(dovecot) })
  let daemon: DaemonProcess

  test('is accepted with its file, and needs memory only for the packed size', async () => {
    daemon = await site.start()
    for (const [name, file] of Object.entries(FILES)) {
      const before = memoryOf(daemon)
      let peak = before
      const sampling = setInterval(() => {
        peak = Math.max(peak, memoryOf(daemon))
      }, 20)
      await deliver(dovecot.lmtpPort, {
        from: 'mallory@example.net',
        to: [ADDRESS],
        raw: mailWith(name, file),
      })
      const search = () => daemon.invoke('message-search', { text: name })
      const id = await until(
        async () => /"id":"([\w-]{36})"/.exec(JSON.stringify(await search()))?.[1],
        name,
        30_000,
      )
      const message = JSON.stringify(await daemon.invoke('message-show', { id }))
      clearInterval(sampling)
      assert.match(message, new RegExp(`"size":${file.content.length}\\b`), 'the file is stored unchanged')
      assert.ok(peak - before < BOUND, `${name} took ${Math.round(peak - before)} MB`)
    }
    await dovecot.close()
  })
})

function routesFor({
  imapPort,
  lmtpPort,
  password,
}: {
  imapPort: number
  lmtpPort: number
  password: string
}) {
  const login = `user: ${ADDRESS}, pass: ${password}`
  return `
gateways:
  support:
    transport: email
    address: ${ADDRESS}
    since: all
    imap: { host: 127.0.0.1, port: ${imapPort}, tls: none, ${login} }
    smtp: { host: 127.0.0.1, port: ${lmtpPort}, tls: none }
routes: []
`
}

function mailWith(subject: string, { type, name, content }: File): Buffer {
  const lines = [
    'From: mallory@example.net',
    `To: ${ADDRESS}`,
    `Subject: ${subject}`,
    `Message-ID: <${name}@example.net>`,
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/plain',
    '',
    subject,
    '--b',
    `Content-Type: ${type}`,
    `Content-Disposition: attachment; filename=${name}`,
    'Content-Transfer-Encoding: base64',
    '',
    ...(content.toString('base64').match(/.{1,76}/g) ?? []),
    '--b--',
    '',
  ]
  return Buffer.from(lines.join('\r\n'))
}

/** A ZIP archive with one file (APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16). */
function zipOf(name: string, content: Buffer): Buffer {
  const packed = deflateRawSync(content)
  const common = Buffer.alloc(26)
  common.writeUInt16LE(20, 0)
  common.writeUInt16LE(8, 4)
  common.writeUInt32LE(crc32(content), 10)
  common.writeUInt32LE(packed.length, 14)
  common.writeUInt32LE(content.length, 18)
  common.writeUInt16LE(name.length, 22)
  const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed])
  const version = Buffer.from([20, 0])
  const central = Buffer.concat([
    Buffer.from('PK\x01\x02'),
    version,
    common,
    Buffer.alloc(14),
    Buffer.from(name),
  ])
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(1, 8)
  end.writeUInt16LE(1, 10)
  end.writeUInt32LE(central.length, 12)
  end.writeUInt32LE(local.length, 16)
  return Buffer.concat([local, central, end])
}
