import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decompressRtf } from '../../../transports/email/inbound/compressed-rtf.ts'
import { readRtf } from '../../../transports/email/inbound/rtf-body.ts'
import fc from '../../fixtures/fast-check.ts'
import { compressRtf } from './tnef-encoder.ts'

const LIMIT = 2 * 1024 * 1024

describe('compressed RTF', () => {
  test('is expanded as in the examples of its specification', () => {
    const examples = [
      [
        '2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c0900206277' +
          '05b06c647d0a800fa0',
        '{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n',
      ],
      ['1a0000001c0000004c5a4675e2d44b51410004205758595a0d6e7d010eb0', '{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}'],
    ] as const
    for (const [hex, rtf] of examples) assert.equal(expanded(Buffer.from(hex, 'hex')), rtf)
  })

  test('is read as well where it was not compressed', () => {
    const rtf = Buffer.from('{\\rtf1 hi}')
    const header = Buffer.alloc(16)
    header.writeUInt32LE(rtf.length + 12, 0)
    header.writeUInt32LE(rtf.length, 4)
    header.writeUInt32LE(0x414c454d, 8)
    assert.equal(expanded(Buffer.concat([header, rtf])), '{\\rtf1 hi}')
  })

  test('is no text where it is damaged, cut off or over the limit', () => {
    const good = compressRtf('{\\rtf1 hello world, hello world}')
    assert.ok(expanded(good))
    for (let at = 16; at < good.length; at++) {
      const broken = Buffer.from(good)
      broken.writeUInt8((broken[at] ?? 0) ^ 0x01, at)
      assert.equal(expanded(broken), undefined)
      assert.equal(expanded(good.subarray(0, at)), undefined)
    }
    assert.equal(decompressRtf(good, 10), undefined)
  })

  test('is never expanded beyond nine times its size, whatever its bytes', () => {
    const body = fc.uint8Array({ maxLength: 300 })
    fc.assert(
      fc.property(body, fc.nat(LIMIT), (bytes, size) => {
        // With a good checksum, so that the bytes themselves are looked at.
        const input = compressRtf(Buffer.from(bytes).toString('latin1'))
        input.writeUInt32LE(size, 4)
        for (const each of [Buffer.from(bytes), input]) {
          assert.ok((decompressRtf(each, LIMIT)?.buffer.byteLength ?? 0) <= 9 * each.length)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('an RTF body', () => {
  const cases: [string, rtf: string, text: string][] = [
    ['has paragraphs, lines and tabs', 'one\\par two\\line three\\tab four', 'one\ntwo\nthree\tfour'],
    ['has its formatting left out', '{\\b bold} and {\\i\\cf1 italic\\i0}', 'bold and italic'],
    ['has characters that mean something', '\\{\\}\\\\ a\\~b co\\_op a\\-b', '{}\\ a\u00a0b co-op ab'],
    ['has typographic signs', '\\ldblquote x\\rdblquote \\endash\\emdash\\bullet', '“x”–—•'],
    ['has bytes in the code page of the document', "\\ansicpg1251 \\'cf\\'f0\\'e8", 'При'],
    [
      'has bytes in the code page of their font',
      "{\\fonttbl{\\f0\\fcharset0 A;}{\\f1\\fcharset204 B;}}\\f1 \\'cf{\\f0 \\'e4}\\'f0",
      'Пäр',
    ],
    ['has characters of two bytes', "\\ansicpg932 \\'93\\'fa\\'96\\'7b", '日本'],
    [
      'has Unicode with its fallback left out',
      "\\u8211?x \\uc2\\u26085\\'93\\'fay \\uc0\\u8212 z",
      '–x 日y —z',
    ],
    ['has characters beyond the basic plane', '\\u-10179?\\u-8704?', '😀'],
    [
      'has no fonts, colours, pictures and unknown things',
      '{\\fonttbl{\\f0 Arial;}}{\\colortbl;\\red0;}{\\pict 00ff}{\\*\\new x}a',
      'a',
    ],
    [
      'has the result of a field, not its instruction',
      '{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt here}}',
      'here',
    ],
    ['has raw bytes passed over', '{\\bin5 }}}}}a}b', 'ab'],
    ['ends with its group', 'a}b', 'a'],
    ['is read to its end where groups are not closed', '{\\b a', 'a'],
    ['has line ends of the file left out', 'a\r\nb\nc', 'abc'],
  ]
  for (const [name, rtf, text] of cases) {
    test(name, () => {
      assert.deepEqual(readRtf(Buffer.from(`{\\rtf1\\ansi\\ansicpg1252 ${rtf}}`, 'latin1')), { text })
    })
  }

  test('that was made of HTML gives the HTML back', () => {
    const rtf = `{\\rtf1\\ansi\\ansicpg1252\\fromhtml1 \\deff0{\\fonttbl{\\f0\\fswiss Arial;}}
{\\*\\htmltag19 <html>}{\\*\\htmltag64 <p class="a \\{b\\}">}\\htmlrtf {\\b \\htmlrtf0 Gr\\'fc\\'dfe{\\*\\htmltag84 &nbsp;}\\htmlrtf \\'a0\\htmlrtf0 \\u8211?
{\\*\\mhtmltag84 <img src="cid:x">}\\htmlrtf\\par}\\htmlrtf0 {\\*\\htmltag72 </p>}{\\*\\htmltag27 </html>}}`
    assert.deepEqual(readRtf(Buffer.from(rtf)), {
      html: '<html><p class="a {b}">Grüße&nbsp;–</p></html>',
    })
  })

  test('is nothing where it is no RTF, or nested without end', () => {
    assert.equal(readRtf(Buffer.from('hello')), undefined)
    assert.equal(readRtf(Buffer.from(`{\\rtf1 ${'{'.repeat(100_000)}`)), undefined)
  })

  test('is read without a throw, into no more than it is, whatever its bytes', () => {
    const pieces = [
      '{',
      '}',
      '\\',
      '\\u8211',
      '\\uc3',
      "\\'e4",
      "\\'",
      '\\bin3 ',
      '\\bin99999',
      '\\*',
      '\\htmltag',
      'text',
    ]
    const more = [
      '\\htmlrtf',
      '\\htmlrtf0',
      '\\f1',
      '\\fcharset204',
      '\\ansicpg65001',
      '\\par',
      '\r\n',
      '\0',
      ' ',
      '-1',
    ]
    const rtf = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 60 }).map((all) => all.join(''))
    fc.assert(
      fc.property(fc.constantFrom('', '\\fromhtml1'), rtf, (kind, body) => {
        const bytes = Buffer.from(`{\\rtf1${kind} ${body}`)
        for (const text of Object.values(readRtf(bytes) ?? {})) assert.ok(text.length <= bytes.length)
      }),
      { numRuns: 1000 },
    )
  })

  test('takes time in proportion to its size', () => {
    const hostile = [
      "\\f1\\'e4\\f2\\'e4",
      '{}',
      '\\u1a',
      '{\\*\\x',
      '\\',
      '\\bin0 ',
      'x'.repeat(1000),
      '\\ansicpg932\\f0\\u1',
    ]
    for (const piece of hostile) {
      const start = performance.now()
      const tables = '{\\fonttbl{\\f1\\fcharset204 }{\\f2\\fcharset128 }}'
      readRtf(Buffer.from(`{\\rtf1 ${tables}${piece.repeat(LIMIT / piece.length)}`.slice(0, LIMIT)))
      assert.ok(
        performance.now() - start < 3000,
        `${piece.slice(0, 20)} took ${performance.now() - start} ms`,
      )
    }
  })
})

function expanded(bytes: Buffer): string | undefined {
  return decompressRtf(bytes, LIMIT)?.toString('latin1')
}
