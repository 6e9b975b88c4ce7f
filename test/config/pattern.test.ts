import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compilePattern, MAX_PATTERN, MAX_TEXT } from '../../src/core/pattern.ts'
import fc from '../fixtures/fast-check.ts'

const fits = (source: string, text: string) => compilePattern(source).test(text)

describe('a glob', () => {
  for (const [source, text, expected] of [
    ['support*', 'Support/urgent', true],
    ['support*', 'my support', false],
    ['*@example.com', 'bob@EXAMPLE.com', true],
    ['*@example.com', 'bob@example.com.evil', false],
    ['*', '', true],
    ['**', 'a\nb', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['*a*a*', 'a', false],
    ['.*', '.hidden', true],
    ['a*', '.a', false],
    ['a.c', 'abc', false],
    ['a?c', 'a\nc', true],
    ['a?c', 'a😀c', true],
    ['v[0-9].*', 'V1.x', true],
    ['[!a-c]x', 'dx', true],
    ['[^a-c]x', 'bx', false],
    ['[]]', ']', true],
    ['[\\]', '\\', true],
    ['{push,tag*}', 'TAGGED', true],
    ['{a,b{c,d}}e', 'bde', true],
    ['a,b}', 'a,b}', true],
    ['a\\*', 'a*', true],
    ['a\\*', 'ab', false],
    ['\\?\\[\\{', '?[{', true],
    ['(a|b)+', '(A|B)+', true],
    ['$^', '$^', true],
    ['/deploy', '/deploy', true],
    ['\\/a/b', '/a/b', true],
    ['é*', 'Éa', true],
  ] as const) {
    test(`${source} ${expected ? 'fits' : 'does not fit'} ${JSON.stringify(text)}`, () =>
      assert.equal(fits(source, text), expected))
  }

  for (const [source, message] of [
    ['[a', /has a "\[" without "\]"/],
    ['{a', /has a "\{" without "\}"/],
    ['a\\', /ends with "\\"/],
    ['[z-a]', /invalid character class range/],
    ['x'.repeat(MAX_PATTERN + 1), /is longer than 1000 characters/],
  ] as const) {
    test(`${source.slice(0, 20)} is refused`, () => assert.throws(() => compilePattern(source), message))
  }

  test('of stars and letters does what the textbook says', () => {
    const source = fc.stringMatching(/^[ab*]{0,8}$/)
    const text = fc.stringMatching(/^[abAB]{0,10}$/)
    fc.assert(
      fc.property(source, text, (glob, given) => {
        assert.equal(fits(glob, given), wildcard(glob, given.toLowerCase()))
      }),
      { numRuns: 2000 },
    )
  })

  test('of any kind fits itself, once escaped', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 100 }), (text) => {
        const escaped = text.replaceAll(/[\\*?[{]/g, '\\$&')
        if (/^\/.*\/\w*$/s.test(escaped)) return
        assert.equal(fits(escaped, text), true)
      }),
      { numRuns: 30 },
    )
  })
})

describe('a regex', () => {
  test('is found anywhere, in the case it is written in', () => {
    assert.equal(fits('/b+/', 'abbc'), true)
    assert.equal(fits('/B/', 'abc'), false)
    assert.equal(fits('/B/i', 'abc'), true)
    assert.equal(fits('/^b$/m', 'a\nb\nc'), true)
    assert.equal(fits('/a.b/s', 'a\nb'), true)
    assert.equal(fits('/a/b/', 'xa/by'), true)
  })

  for (const [source, message] of [
    ['/(/', /is no RE2 regex: missing closing \)/],
    ['/(?=a)/', /is no RE2 regex: .*look-around and back-references are not in RE2/],
    ['/(a)\\1/', /is no RE2 regex/],
    ['//', /is an empty regex/],
    ['/a/g', /has the unknown regex flag "g"/],
    ['/((a{100}){100}){10}/', /is no RE2 regex: .*repeat|too large/],
    ['/(([a-z]{30}){30}){1}([a-z]{30}){30}x([a-z]{50}){20}(abcdefgh){500}/', /too large/],
  ] as const) {
    test(`${source.slice(0, 40)} is refused`, () => assert.throws(() => compilePattern(source), message))
  }

  test('sees only the start of a very long text', () => {
    assert.equal(fits('/x/', `${'a'.repeat(MAX_TEXT - 1)}x`), true)
    assert.equal(fits('/x/', `${'a'.repeat(MAX_TEXT)}x`), false)
  })
})

describe('no pattern backtracks', () => {
  const text = 'a'.repeat(60_000)
  // Each of these takes a backtracking engine longer than the age of the universe; the test's own timeout ends it.
  for (const source of [
    '/(a+)+$b/',
    '/(a|a)*b/',
    '/(a|aa)+b$/',
    '/^(([a-z])+.)+[A-Z]([a-z])+$/',
    '/(.*a){20}b/',
    `${'a*'.repeat(400)}b`,
    `${'*a'.repeat(400)}b`,
    `${'{a,aa}'.repeat(100)}*b`,
    `${'?*'.repeat(200)}b`,
    `${'[a]*'.repeat(200)}b`,
  ]) {
    test(source.slice(0, 40), { timeout: 30_000 }, () => assert.equal(fits(source, text), false))
  }

  test('any pattern is refused with an Error or answers, for any text', () => {
    const meta = fc.stringMatching(/^[ab*?[\]{},\\/()|+^$.!-]{0,30}$/)
    const source = fc.oneof(
      meta,
      meta.map((body) => `/${body}/`),
      fc.string({ unit: 'binary' }),
    )
    fc.assert(
      fc.property(source, fc.string({ unit: 'binary' }), (pattern, given) => {
        try {
          assert.equal(typeof fits(pattern, given), 'boolean')
        } catch (error) {
          assert.ok(error instanceof Error && /^(has|is|ends) /.test(error.message), String(error))
        }
      }),
      { numRuns: 3000 },
    )
  })
})

/** The plain definition: slow, short, and surely right. */
function wildcard(glob: string, text: string): boolean {
  if (glob === '') return text === ''
  if (glob[0] === '*') return wildcard(glob.slice(1), text) || (text !== '' && wildcard(glob, text.slice(1)))
  return text !== '' && glob[0] === text[0] && wildcard(glob.slice(1), text.slice(1))
}
