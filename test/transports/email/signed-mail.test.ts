// Mail whose text is inside an opaque S/MIME signature, as Outlook sends it without "clear text
// signed message".
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { signedContent } from '../../../transports/email/mime/signed-data.ts'
import { temporaryDir } from '../../fixtures/folder.ts'

const INNER =
  'Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nH=C3=A9llo\r\n--q\r\nContent-Type: application/pdf; name=a.pdf\r\n\r\n%PDF\r\n--q--\r\n'

/** Tags of BER elements. */
const INTEGER = 0x02
const OCTETS = 0x04
const OBJECT_ID = 0x06
const OCTETS_IN_PIECES = 0x24
const SEQUENCE = 0x30
const SET = 0x31
const CONTEXT_0 = 0xa0
/** The object ids of data and signedData in PKCS #7. */
const ID_DATA = '2a864886f70d010701'
const ID_SIGNED_DATA = '2a864886f70d010702'

/** An element in BER: of indefinite length, or with a length in four bytes. */
const indefinite = (tag: number, ...contents: Buffer[]) =>
  Buffer.concat([Buffer.from([tag, 0x80]), ...contents, Buffer.from([0, 0])])
const definite = (tag: number, content: Buffer) => {
  const head = Buffer.from([tag, 0x84, 0, 0, 0, 0])
  head.writeUInt32BE(content.length, 2)
  return Buffer.concat([head, content])
}
const oid = (hex: string) => definite(OBJECT_ID, Buffer.from(hex, 'hex'))

/**
 * Signed-data around this content as Bouncy Castle writes it: every level indefinite, pieces of
 * 1,000 bytes.
 */
function inPieces(content: Buffer): Buffer {
  const pieces: Buffer[] = []
  for (let at = 0; at < content.length; at += 1_000)
    pieces.push(definite(OCTETS, content.subarray(at, at + 1_000)))
  const wrapped = indefinite(CONTEXT_0, indefinite(OCTETS_IN_PIECES, ...pieces))
  const signedData = [
    definite(INTEGER, Buffer.from([1])),
    definite(SET, Buffer.alloc(0)),
    indefinite(SEQUENCE, oid(ID_DATA), wrapped),
  ]
  const content0 = indefinite(CONTEXT_0, indefinite(SEQUENCE, ...signedData))
  return indefinite(SEQUENCE, oid(ID_SIGNED_DATA), content0)
}

/** Runs openssl in a folder with a key and a certificate. */
function opensslIn(t: TestContext) {
  const folder = temporaryDir(t)
  const at = (name: string) => join(folder, name)
  const run = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const make = 'req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ada'
  run(...make.split(' '), '-keyout', at('key.pem'), '-out', at('cert.pem'))
  return {
    /** A mail with this content, signed by openssl. */
    sign(content: string, ...more: string[]): Buffer {
      writeFileSync(at('in'), content)
      const signer = [
        '-signer',
        at('cert.pem'),
        '-inkey',
        at('key.pem'),
        '-in',
        at('in'),
        '-from',
        'ada@example.net',
      ]
      return run('cms', '-sign', '-binary', ...more, ...signer)
    },
    encrypt(content: Buffer): Buffer {
      writeFileSync(at('in'), content)
      return run(
        'cms',
        '-encrypt',
        '-binary',
        '-aes256',
        '-from',
        'ada@example.net',
        '-in',
        at('in'),
        at('cert.pem'),
      )
    },
  }
}

describe('a mail inside an opaque signature', () => {
  for (const [form, more] of [
    ['DER', ['-nodetach']],
    ['BER, in pieces', ['-nodetach', '-stream']],
  ] as const)
    test(`is read, with its files, from ${form}`, async (t) => {
      const openssl = opensslIn(t)
      const mail = await parseMail(openssl.sign(INNER, ...more))
      assert.deepEqual([mail.text.trim(), mail.unreadable], ['Héllo', undefined])
      assert.deepEqual(
        mail.parts.map(({ name }) => name),
        ['a.pdf'],
      )
    })

  test('is read if a server has changed its type, and inside another signature', async (t) => {
    const openssl = opensslIn(t)
    const raw = openssl.sign('Content-Type: text/plain\r\n\r\nhello\r\n', '-nodetach')
    const octets = raw.toString('latin1').replace('application/pkcs7-mime', 'application/octet-stream')
    assert.notEqual(octets, raw.toString('latin1'))
    assert.equal((await parseMail(Buffer.from(octets, 'latin1'))).text.trim(), 'hello')
    const twice = openssl.sign(raw.toString('latin1'), '-nodetach')
    assert.equal((await parseMail(twice)).text.trim(), 'hello')
  })

  test('is still reported as encrypted if it is', async (t) => {
    const openssl = opensslIn(t)
    const signed = openssl.sign('Content-Type: text/plain\r\n\r\nhello\r\n', '-nodetach')
    const sealed = openssl.encrypt(signed)
    assert.equal((await parseMail(sealed)).unreadable, 'encrypted')
    const outer = openssl.sign(sealed.toString('latin1'), '-nodetach')
    assert.equal((await parseMail(outer)).unreadable, 'encrypted')
  })

  test('is read from many small pieces, up to the largest mail', () => {
    const content = Buffer.alloc(25 * 1024 * 1024, 'content ')
    assert.ok(signedContent(inPieces(content))?.equals(content))
  })

  test('is not read, and so stays a file, if it is cut off or crafted to take long', async (t) => {
    const openssl = opensslIn(t)
    const raw = openssl.sign(INNER, '-nodetach')
    const base64 = raw.toString('latin1').split('\n\n').slice(1).join('')
    const bytes = Buffer.from(base64, 'base64')
    assert.ok(signedContent(bytes)?.includes('quoted-printable'))
    for (let length = 0; length < 200; length++)
      assert.equal(signedContent(bytes.subarray(0, length)), undefined)
    assert.equal(signedContent(Buffer.alloc(1_000_000, Buffer.from([0x30, 0x80]))), undefined)
    const many = Buffer.concat([
      Buffer.from([0x30, 0x80]),
      Buffer.alloc(2_000_000, Buffer.from([0x05, 0x00])),
    ])
    assert.equal(signedContent(many), undefined)
  })
})

test('a protected message of Microsoft Purview says that it is encrypted', async () => {
  const rpmsg =
    'From: ada@example.net\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain\n\nAda has sent you a protected message.\n--x\nContent-Type: application/x-microsoft-rpmsg-message; name=message_v4.rpmsg\nContent-Transfer-Encoding: base64\n\ndg==\n--x--\n'
  const { unreadable, text } = await parseMail(Buffer.from(rpmsg))
  assert.deepEqual([unreadable, text.trim()], ['encrypted', 'Ada has sent you a protected message.'])
})
