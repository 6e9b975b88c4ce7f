import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compilePattern, MAX_PATTERN } from '../../src/core/pattern.ts'
import fc from '../fixtures/fast-check.ts'

const matches = (source: string, text: string) => compilePattern(source).test(text)

/** For each pattern, texts that it matches, and texts that it does not match. */
const PATTERNS: Record<string, [matching: string[], others: string[]]> = {
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

for (const [source, [matching, others]] of Object.entries(PATTERNS)) {
  test(`${source} matches the right texts`, () => {
    for (const text of matching) assert.equal(matches(source, text), true, text)
    for (const text of others) assert.equal(matches(source, text), false, text)
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
  // A backtracking engine would not end before the timeout of the test.
  for (const source of [
    '/(a+)+$b/',
    '/(.*a){20}b/',
    `${'a*'.repeat(400)}b`,
    `${'{a,aa}'.repeat(100)}*b`,
    `${'?*'.repeat(200)}b`,
  ]) {
    test(source.slice(0, 40), { timeout: 300_000 }, () => assert.equal(matches(source, text), false))
  }
})

test('any pattern is refused with an Error, or can test any text', () => {
  const meta = fc.stringMatching(/^[ab*?[\]{},\\/()|+^$.!-]{0,30}$/)
  const source = fc.oneof(
    meta,
    meta.map((body) => `/${body}/`),
    fc.string({ unit: 'binary' }),
  )
  const property = fc.property(source, fc.string({ unit: 'binary' }), (pattern, given) => {
    try {
      assert.equal(typeof matches(pattern, given), 'boolean')
    } catch (error) {
      assert.ok(error instanceof Error && /^(has|is|ends) /.test(error.message), String(error))
    }
  })
  fc.assert(property, { numRuns: 2000 })
})

test('globs with only stars match the same as in RE2, which is used for all other globs', () => {
  const source = fc.stringMatching(/^[aB*\n.]{1,12}$/)
  const text = fc.stringMatching(/^[Ab\n.]{0,12}$/)
  const property = fc.property(source, text, (glob, given) => {
    // A glob in braces is compiled to RE2.
    assert.equal(matches(glob, given), matches(`{${glob}}`, given))
  })
  fc.assert(property, { numRuns: 5000 })
})
