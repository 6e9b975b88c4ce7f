import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sampleMail } from '../../../ops/bench/lib/sample-mail.ts'
import { parseAnyMail } from '../../../transports/email/inbound/parse.ts'
import { type ParsedMail, parsePlainMail } from '../../../transports/email/inbound/plain-mail.ts'
import fc from '../../fixtures/fast-check.ts'

const DIR = join(import.meta.dirname, 'mails')
const files = (await readdir(DIR)).filter((name) => name.endsWith('.eml'))
const originals = await Promise.all(files.map((name) => readFile(join(DIR, name))))

const CHARSETS = [
  'utf-8',
  'US-ASCII',
  'iso-8859-1',
  'windows-1252',
  'koi8-r',
  'iso-8859-15',
  'utf-16',
  'gb18030',
  '',
]
const ENCODINGS = ['7bit', '8bit', 'binary', 'quoted-printable', 'Quoted-Printable', 'base64', 'x-own', '']
const PIECES = [
  ...[
    'Hello ',
    'world',
    '\r\n',
    '\r\n',
    '\r\n',
    '\n',
    ' ',
    '-- ',
    '--',
    '>',
    '> ',
    ' \r\n',
    '=',
    '=\r\n',
    '=E4',
    '=e4',
  ],
  ...[
    '=C3=A4',
    '=4',
    '==',
    '=0D=0A',
    'ä',
    '–',
    '\u00a0',
    '\ufeff',
    '\0',
    '\r',
    'SGVsbG8=',
    'SGVsbG8',
    '--b',
    '--b--',
  ],
  ...['\r\n--b\r\n', '\r\n--b--\r\n', '\r\n--b \r\n', '<p>x</p>', '\t', 'From: x@y'],
]
const TYPES = [
  ...[
    'text/plain',
    'text/plain',
    'text/html',
    'TEXT/PLAIN',
    'text/plain; format=flowed',
    'text/calendar',
    '',
  ],
  ...['text/plain; format=flowed; delsp=yes', 'text/plain; name="x (1).txt"', 'text/plain; charset', 'text'],
]
const HEADERS = [
  ...['From: Anna <anna@example.net>', 'To: a@x.org, "B, C" <b@x.org>', 'Cc: team: a@x.org, b@x.org;', 'Cc:'],
  ...[
    'Subject: =?utf-8?q?f=C3=BCr_Anna?=',
    'Subject: folded\r\n  twice\r\n\tand again',
    'Subject: ü',
    'Subject:',
  ],
  ...[
    'Message-ID: <1@x>',
    ' starts with a blank',
    'no colon',
    'Reply-To: r@x.org',
    'References: <a@x>\r\n <b@x>',
  ],
  ...[
    'Content-Disposition: inline',
    'Content-Disposition: attachment',
    'Content-Type: text/html',
    'X: \u00a0y \t',
  ],
  ...['To: second@x.org', 'Content-ID: <c@x>', 'X: carriage\rreturn', 'X-\ufeffA: b'],
]

const body = fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join(''))
const content = fc
  .record({
    type: fc.constantFrom(...TYPES),
    charset: fc.constantFrom(...CHARSETS),
    encoding: fc.constantFrom(...ENCODINGS),
    body,
  })
  .map(({ type, charset, encoding, body }) => ({
    headers: [
      ...(type ? [`Content-Type: ${type}${charset ? `; charset=${charset}` : ''}`] : []),
      ...(encoding ? [`Content-Transfer-Encoding: ${encoding}`] : []),
    ],
    body,
  }))
const alternative = fc
  .record({
    parts: fc.array(content, { maxLength: 3 }),
    type: fc.constantFrom('alternative', 'alternative', 'alternative', 'mixed'),
    preamble: fc.constantFrom('', 'A preamble\r\n', '\r\n'),
    end: fc.constantFrom('--b--\r\n', '--b--', '--b-- \t\r\nepilogue\r\n--b\r\n\r\nlate', '', '--b--x'),
  })
  .map(({ parts, type, preamble, end }) => ({
    headers: [`Content-Type: multipart/${type};\r\n boundary="b"`],
    body: `${preamble}${parts.map((part) => `--b\r\n${part.headers.join('\r\n')}\r\n\r\n${part.body}\r\n`).join('')}${end}`,
  }))
const mail = fc
  .record({
    headers: fc.array(fc.constantFrom(...HEADERS), { maxLength: 5 }),
    content: fc.oneof(content, alternative),
    after: fc.array(fc.constantFrom(...HEADERS), { maxLength: 1 }),
    bytes: fc.constantFrom('utf8' as const, 'latin1' as const),
    lineEnd: fc.constantFrom('\r\n', '\r\n', '\n'),
  })
  .map(({ headers, content, after, bytes, lineEnd }) =>
    Buffer.from(
      [...headers, ...content.headers, ...after, '', content.body].join('\r\n').replaceAll('\r\n', lineEnd),
      bytes,
    ),
  )

/** What both must agree on. */
function compared({ headers, subject, replyTo, to, cc, text, html, attachments }: ParsedMail) {
  const fields = headers.map(({ key, value }) => ({ key, value }))
  return { headers: fields, subject, replyTo, to, cc, text: text || '', html: html || '', attachments }
}

async function assertSame(raw: Uint8Array): Promise<boolean> {
  const quick = parsePlainMail(raw)
  if (quick)
    assert.deepEqual(compared(quick), compared(await parseAnyMail(raw)), JSON.stringify(raw.toString()))
  return quick !== undefined
}

describe('a plain mail is read at once', () => {
  test('with what the library reads in it, whatever is in it', async () => {
    let quick = 0
    const count = async (raw: Buffer) => {
      if (await assertSame(raw)) quick++
    }
    await fc.assert(fc.asyncProperty(mail, count), { numRuns: 4000 })
    assert.ok(quick > 400, `only ${quick} were plain; the comparison says little`)
  })

  test('also when a real one is damaged', async () => {
    const all = [...originals, sampleMail(0), sampleMail(1)]
    const damage = fc.record({
      mail: fc.nat(all.length - 1),
      at: fc.nat(3000),
      lost: fc.nat(40),
      noise: fc.constantFrom(...PIECES, ''),
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ mail, at, lost, noise }) => {
        const raw = all[mail] ?? Buffer.alloc(0)
        await assertSame(Buffer.concat([raw.subarray(0, at), Buffer.from(noise), raw.subarray(at + lost)]))
      }),
      { numRuns: 1000 },
    )
  })

  test('if it is one text, or one with its HTML', () => {
    assert.ok(parsePlainMail(sampleMail(0)))
    assert.ok(parsePlainMail(sampleMail(1)))
  })

  test('in time that grows with its size', () => {
    const head = 'Content-Type: multipart/alternative; boundary=b\n\n'
    const bodies = [
      `${head}${'--b'.repeat(80_000)}`,
      `${head}${'--b\n\n'.repeat(50_000)}`,
      `Content-Type: text/plain; ${'a=b; '.repeat(90)}\n\nx`,
      `Content-Type: text/plain; format=flowed\n\n${'a \n'.repeat(80_000)}`,
      `Content-Type: text/plain; format=flowed; delsp=yes\n\n${' \n'.repeat(80_000)}`,
      `Content-Transfer-Encoding: base64\n\n${'A'.repeat(200_000)}=x`,
      `${'X: y\n '.repeat(40_000)}\n\n`,
    ]
    for (const raw of bodies) {
      const start = performance.now()
      parsePlainMail(Buffer.from(raw))
      assert.ok(performance.now() - start < 1000, `${raw.slice(0, 60)}… took ${performance.now() - start} ms`)
    }
  })
})
