// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are the variables of the files

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DotenvError, parseDotenv } from '../../src/config/dotenv.ts'

const ENV: Record<string, string> = { EMPTY_VAR: '', TEST_VAR: 'Test Value' }
const read = (text: string) =>
  Object.fromEntries(parseDotenv(text, (name) => ENV[name]).map(({ name, value }) => [name, value]))

/**
 * The value of FOO in each text, by the documentation of docker compose and the tests of compose-go
 * and godotenv.
 */
const VALUES: [text: string, foo: string][] = [
  ['FOO=abc#def', 'abc#def'],
  ['FOO=VAL # comment', 'VAL'],
  ['FOO=VAL# not a comment', 'VAL# not a comment'],
  ['FOO="VAL # not a comment"', 'VAL # not a comment'],
  ['FOO="VAL" # comment', 'VAL'],
  ["FOO='$OTHER'", '$OTHER'],
  ["FOO='${OTHER}'", '${OTHER}'],
  ["FOO='Let\\'s go!'", "Let's go!"],
  ['FOO="{\\"hello\\": \\"json\\"}"', '{"hello": "json"}'],
  ['FOO="some\\tvalue"', 'some\tvalue'],
  ["FOO='some\\tvalue'", 'some\\tvalue'],
  ['FOO=some\\tvalue', 'some\\tvalue'],
  ['FOO=bar', 'bar'],
  ['FOO =bar', 'bar'],
  ['FOO= bar', 'bar'],
  ['FOO=bar ', 'bar'],
  ['FOO=', ''],
  ['FOO=   ', ''],
  ['FOO= # nothing', ''],
  ['FOO=#abc', '#abc'],
  ['FOO=""', ''],
  ["FOO=''", ''],
  ['FOO="escaped\\"bar"', 'escaped"bar'],
  ['FOO="\'d\'"', "'d'"],
  ['FOO: 1', '1'],
  ['FOO: Foo=bar', 'Foo=bar'],
  ['FOO=1:B', '1:B'],
  ['export FOO=2', '2'],
  ['export\tFOO=2', '2'],
  ['  export FOO=2', '2'],
  ['FOO="bar\\nbaz"', 'bar\nbaz'],
  ['FOO="bar\nbaz"', 'bar\nbaz'],
  ['FOO=foobar=', 'foobar='],
  ['FOO="bar#baz" # comment', 'bar#baz'],
  ["FOO='bar#baz' # comment", 'bar#baz'],
  ['FOO="bar\\\\\\n"', 'bar\\\n'],
  // Octal, as in compose-go.
  ['FOO="\\0123"', 'S'],
  [
    'FOO=postgres://localhost:5432/database?sslmode=disable',
    'postgres://localhost:5432/database?sslmode=disable',
  ],
  ['FOO=first one with an unquoted phrase', 'first one with an unquoted phrase'],
  ['FOO=a"quote"inside', 'a"quote"inside'],
  ["FOO=let's go", "let's go"],
  ['FOO=C:\\path\\to', 'C:\\path\\to'],
  ['FOO="foo\\$BAR"', 'foo$BAR'],
  ['FOO="foo\\${BAR}"', 'foo${BAR}'],
  ['FOO=foo$$BAR', 'foo$BAR'],
  ['FOO=$TEST_VAR', 'Test Value'],
  ['FOO="quote $TEST_VAR"', 'quote Test Value'],
  ['FOO=${TEST_VAR}bar', 'Test Valuebar'],
  ['A=test\nFOO=${A} $A', 'test test'],
  ['FOO=${UNSET_VAR:-Default Value}', 'Default Value'],
  ['FOO=${EMPTY_VAR:-Default Value}', 'Default Value'],
  ['FOO=${EMPTY_VAR-Default Value}', ''],
  ['FOO=${UNSET_VAR-Default Value}', 'Default Value'],
  ['FOO=${TEST_VAR:-Default Value}', 'Test Value'],
  ['FOO=${TEST_VAR:?must be set}', 'Test Value'],
  ['FOO=${TEST_VAR:+x}${UNSET_VAR:+y}', 'x'],
  ['FOO=${UNSET_VAR:-${TEST_VAR}}', 'Test Value'],
  ['\ufeffFOO=bar\r\n', 'bar'],
  ['# a comment\n\n\t # another\nFOO=bar\r\nBAR=x', 'bar'],
  ['TEST_VAR=other\nFOO=$TEST_VAR', 'Test Value'],
  ['FOO=a\nFOO=b', 'b'],
  ['INHERITED\nFOO=bar', 'bar'],
]

const REFUSED: [text: string, line: number, reason: RegExp][] = [
  ['A=1\nFOO=abc$def', 2, /\$ is followed by a name that is not set.*single quotes/],
  ['FOO=${UNSET_VAR}', 1, /UNSET_VAR is not set/],
  ['FOO=abc$5', 1, /is not part of a variable/],
  ['FOO=abc$', 1, /is not part of a variable/],
  ['FOO=${UNSET_VAR:?must be set}', 1, /UNSET_VAR is not set: must be set/],
  ['A=1\n\nFOO="abc', 3, /not closed/],
  ['FOO="abc"def', 1, /after the closing quote/],
  ['lol$wut', 1, /is not allowed in a name/],
  ['=value', 1, /there is no name/],
  ['FOO=one\ntwo words', 2, /the rest of the previous line/],
]

/** Texts of the values in `REFUSED`, which may be secrets. */
const VALUES_IN_REFUSED = /abc|def\b|two words/

describe('.env', () => {
  test('is read as docker compose reads it', () => {
    for (const [text, value] of VALUES) assert.equal(read(text).FOO, value, JSON.stringify(text))
  })

  test('names can have dots, dashes and brackets, and a quoted value can have several lines', () => {
    const text = 'a=b\na[1]=c\na.b=d\nA-B="first\nsecond"\n\nZ=\'last\'\n'
    assert.deepEqual(read(text), { a: 'b', 'a[1]': 'c', 'a.b': 'd', 'A-B': 'first\nsecond', Z: 'last' })
  })

  test('is refused where it is ambiguous or invalid; the error names the line, never the value', () => {
    for (const [text, line, reason] of REFUSED) {
      assert.throws(
        () => read(text),
        (error) => {
          assert.ok(error instanceof DotenvError, text)
          assert.equal(error.line, line, text)
          assert.match(error.message, reason)
          assert.doesNotMatch(error.message, VALUES_IN_REFUSED)
          return true
        },
        text,
      )
    }
  })
})
