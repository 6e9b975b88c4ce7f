import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compilePattern, MAX_PATTERN } from '../../src/core/pattern.ts'
import fc from '../fixtures/fast-check.ts'

const fits = (source: string, text: string) => compilePattern(source).test(text)

/** Each pattern with texts that it fits and texts that it does not. */
const PATTERNS: Record<string, [fits: string[], not: string[]]> = {
  'team-A': [
    ['team-a', 'TEAM-A'],
    ['team-ab', 'xteam-a', 'team-', ''],
  ],
  'support*': [['Support/urgent'], ['my support']],
  '*@example.com': [['bob@EXAMPLE.com'], ['bob@example.com.evil']],
  '*': [[''], []],
  '**': [['a\nb'], []],
  'a*b*c': [['a-b-b-c'], ['acb']],
  '.*': [['.hidden'], ['a']],
  'a.c': [['a.c'], ['abc']],
  'a?c': [['a\nc', 'a😀c'], ['ac']],
  'v[0-9].*': [['V1.x'], ['vx.x']],
  '[!a-c]x': [['dx'], ['bx']],
  '{push,tag*}': [['TAGGED'], ['pushed']],
  '{a,b{c,d}}e': [['bde', 'ae'], ['be']],
  'a\\*': [['a*'], ['ab']],
  '\\?\\[\\{': [['?[{'], []],
  '\\/a/b': [['/a/b'], []],
  'é*': [['Éa'], []],
  '/b+/': [['abbc'], ['BB']],
  '/^B$/im': [['a\nb\nc'], []],
  '/x/': [[`${'a'.repeat(1_000_000)}x`], ['a'.repeat(1_000_000)]],
}

for (const [source, [yes, no]] of Object.entries(PATTERNS)) {
  test(`${source} fits what it should and nothing else`, () => {
    for (const text of yes) assert.equal(fits(source, text), true, text)
    for (const text of no) assert.equal(fits(source, text), false, text)
  })
}

for (const [source, message] of [
  ['[a', /has a "\[" without "\]"/],
  ['{a', /has a "\{" without "\}"/],
  ['a\\', /ends with "\\"/],
  ['x'.repeat(MAX_PATTERN + 1), /is longer than 1000 characters/],
  ['/(/', /is not a valid RE2 regex: missing closing \)/],
  ['/(?=a)/', /is not a valid RE2 regex: .*RE2 has no look-around or back-references/],
  ['//', /is an empty regex/],
  ['/a/g', /has the unknown regex flag "g"/],
  ['/((a{100}){100}){10}/', /is not a valid RE2 regex: .*repeat|too large/],
  ['/(([a-z]{30}){30}){1}([a-z]{30}){30}x([a-z]{50}){20}(abcdefgh){500}/', /too large/],
] as const) {
  test(`${source.slice(0, 40)} is refused`, () => assert.throws(() => compilePattern(source), message))
}

describe('no pattern backtracks', () => {
  const text = 'a'.repeat(60_000)
  // Each of these takes a backtracking engine longer than the age of the universe; the test's own timeout ends it.
  for (const source of [
    '/(a+)+$b/',
    '/(.*a){20}b/',
    `${'a*'.repeat(400)}b`,
    `${'{a,aa}'.repeat(100)}*b`,
    `${'?*'.repeat(200)}b`,
  ]) {
    test(source.slice(0, 40), { timeout: 300_000 }, () => assert.equal(fits(source, text), false))
  }
})

test('any pattern is refused with an Error or answers, for any text', () => {
  const meta = fc.stringMatching(/^[ab*?[\]{},\\/()|+^$.!-]{0,30}$/)
  const source = fc.oneof(
    meta,
    meta.map((body) => `/${body}/`),
    fc.string({ unit: 'binary' }),
  )
  const property = fc.property(source, fc.string({ unit: 'binary' }), (pattern, given) => {
    try {
      assert.equal(typeof fits(pattern, given), 'boolean')
    } catch (error) {
      assert.ok(error instanceof Error && /^(has|is|ends) /.test(error.message), String(error))
    }
  })
  fc.assert(property, { numRuns: 2000 })
})

test('stars alone mean the same as in RE2, which reads all other globs', () => {
  const source = fc.stringMatching(/^[aB*\n.]{1,12}$/)
  const text = fc.stringMatching(/^[Ab\n.]{0,12}$/)
  const property = fc.property(source, text, (glob, given) => {
    // Braces are for RE2.
    assert.equal(fits(glob, given), fits(`{${glob}}`, given))
  })
  fc.assert(property, { numRuns: 5000 })
})
