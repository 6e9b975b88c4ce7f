import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseExact } from '../../src/lib/exact-json.ts'
import fc from '../fixtures/fast-check.ts'
import { inTime } from '../fixtures/in-time.ts'

describe('parseExact', () => {
  test('returns numbers beyond 2^53 as strings, and everything else as JSON.parse', () => {
    const cases: [json: string, value: unknown][] = [
      // TikTok: a video.
      ['{"id":7615917337495251231}', { id: '7615917337495251231' }],
      // X: a post.
      [
        '{"id":1871609825485357264,"id_str":"1871609825485357264"}',
        { id: '1871609825485357264', id_str: '1871609825485357264' },
      ],
      // Discord: snowflakes.
      ['[175928847299117063,-175928847299117064]', ['175928847299117063', '-175928847299117064']],
      // Shopify: an order.
      ['{"order_id":820982911946154508,"total":"9.90"}', { order_id: '820982911946154508', total: '9.90' }],
      // The documentation of Twitter.
      ['10765432100123456789', '10765432100123456789'],
      // The largest safe integer, and the next one.
      ['9007199254740991', 9007199254740991],
      ['-9007199254740991', -9007199254740991],
      ['9007199254740992', '9007199254740992'],
      // Fractions.
      ['[9007199254740993.0,1.0000000000000000]', ['9007199254740993.0', 1]],
      ['[1712345678.123456789,0.30000000000000004]', ['1712345678.123456789', 0.30000000000000004]],
      ['[0.10000000000000001,1e21,1.5e300]', [0.1, 1e21, 1.5e300]],
      // Numbers that would be infinite.
      ['{"a":1e400,"b":[-2.5E+309, 1e308],"c":"1e400"}', { a: '1e400', b: ['-2.5E+309', 1e308], c: '1e400' }],
      // Numbers that would be zero, or lose digits close to it.
      [
        '{"a":1e-400,"b":[-2.5E-0330\n, 1e-307],"c":"1e-400"}',
        { a: '1e-400', b: ['-2.5E-0330', 1e-307], c: '1e-400' },
      ],
      [`[0.${'0'.repeat(330)}1]`, [`0.${'0'.repeat(330)}1`]],
      ['[5e-324,1.235e-320,1.23456e-320]', [5e-324, 1.235e-320, '1.23456e-320']],
      ['[0,-0.0,0e-400,0.0e999]', [0, -0, 0, 0]],
      ['1e400', '1e400'],
      ['[1.5E+0400\n, 2e400]\n', ['1.5E+0400', '2e400']],
      // Long numbers in names and strings, and after escaped characters.
      [
        '{"7615917337495251231":"x: 7615917337495251231"}',
        { '7615917337495251231': 'x: 7615917337495251231' },
      ],
      [String.raw`{"a":"\\\"","b": 7615917337495251231}`, { a: '\\"', b: '7615917337495251231' }],
      [String.raw`{"a\\":7615917337495251231,"b":"\\"}`, { 'a\\': '7615917337495251231', b: '\\' }],
    ]
    for (const [text, expected] of cases) assert.deepEqual(parseExact(text), expected, text)
  })

  test('refuses invalid JSON, also with long numbers', () => {
    for (const text of ['01234567890123456789', '[12345678901234567890', '{"a":+12345678901234567890}', '']) {
      assert.throws(() => parseExact(text), SyntaxError, text)
    }
  })

  test('keeps any long integers distinct, and short ones as numbers', () => {
    const integer = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n })
    const filling = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text))
    const space = fc.constantFrom('', ' ', '\n\t')
    fc.assert(
      fc.property(fc.array(fc.tuple(filling, space, integer)), (items) => {
        const json = `[${items.map(([text, gap, id]) => `{"text":${text},"id":${gap}${id}}`).join(',')}]`
        const expected = items.map(([text, , id]) => ({
          text: JSON.parse(text),
          id: Number.isSafeInteger(Number(id)) ? Number(id) : String(id),
        }))
        assert.deepEqual(parseExact(json), expected)
      }),
    )
  })

  test('agrees with JSON.parse for any JSON', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const [exact, plain] = [parseExact(text), JSON.parse(text)].map((value) =>
          JSON.stringify(value, withRoundedNumbers),
        )
        assert.equal(exact, plain)
      }),
    )
  })

  test('takes linear time for hostile texts', async () => {
    const size = 2_000_000
    const texts = [
      `[${'1234567890123456,'.repeat(size / 17)}1]`,
      `["${'\\\\'.repeat(size / 2)}",12345678901234567890]`,
      `[1.${'0'.repeat(size)}]`,
      `["${'1'.repeat(size)}"]`,
      `["${'1e'.repeat(size / 2)}", "1e${'1'.repeat(size)}"]`,
      `["${'1e111'.repeat(size / 5)}"]`,
      `[${'"",'.repeat(size / 3)}12345678901234567890]`,
    ]
    for (const text of texts) await inTime(text, 2_000, () => parseExact(text))
  })
})

/** Replaces each number, and each string that is a long number, by its rounded value as text. */
function withRoundedNumbers(_name: string, value: unknown): unknown {
  const isLong = typeof value === 'string' && /^-?\d[\d.]{15}/.test(value)
  return typeof value === 'number' || isLong ? String(Number(value)) : value
}
