import assert from 'node:assert/strict'
import { test } from 'node:test'

const { readJson } = await import(new URL('../../src/console/lib/schema.js', import.meta.url).href)

test('an error about JSON names the line, in Chromium and in Firefox', (t) => {
  const text = '{\n"a": 1\n"b": 2}'
  assert.throws(() => readJson(text, undefined), /^Error: Invalid JSON, line 3: Expected ',' or '}'/)
  t.mock.method(JSON, 'parse', () => {
    throw new SyntaxError("JSON.parse: expected ',' or '}' at line 3 column 1 of the JSON data")
  })
  assert.throws(() => readJson(text, undefined), /^Error: Invalid JSON, line 3: expected ',' or '}'$/)
})
