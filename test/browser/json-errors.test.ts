import assert from 'node:assert/strict'
import { test } from 'node:test'

const { readJson } = await import(new URL('../../src/console/lib/schema.js', import.meta.url).href)
const { bodyFault, jsonFault } = await import(
  new URL('../../src/console/lib/json-fault.js', import.meta.url).href
)

test('an error about JSON names the line and the column', () => {
  const text = '{\n"a": 1\n"b": 2}'
  assert.throws(() => readJson(text, undefined), {
    message: 'Invalid JSON, line 3, column 1: expected a comma or }, found "b"',
  })
})

test('the first fault is found in every kind of broken JSON', () => {
  const places: [text: string, line: number, column: number, reason: RegExp][] = [
    ['{"id": 1, "name": "#9001", broken', 1, 28, /a name in double quotes, found broken/],
    ['[1,]', 1, 4, /a value, found \]/],
    ['{"a": [1, {}], "b": tru}', 1, 21, /a value, found tru/],
    ['{"a":\n "b', 2, 2, /without an end/],
    ['[01]', 1, 2, /found 01/],
    ['[1, 2', 1, 6, /but the text ends/],
    ['{"a" 1}', 1, 6, /a colon, found 1/],
    ['{} x', 1, 4, /the end, found x/],
    ['{]', 1, 2, /found \]/],
    ['', 1, 1, /a value/],
  ]
  for (const [text, line, column, reason] of places) {
    const fault = jsonFault(text)
    assert.deepEqual([fault?.line, fault?.column], [line, column], text)
    assert.match(fault.reason, reason)
  }
  for (const text of ['{}', ' [1.5e3, -0, "\\u00e9", {"a": [null, true]}]\n', '"x"', '7'])
    assert.equal(jsonFault(text), undefined, text)
})

test('a text that is not meant as JSON, or has a JSON value per line, has no fault', () => {
  for (const text of ['Hello', '', '{"a":1}\n\n{"b":2}\n', undefined])
    assert.equal(bodyFault(text), undefined)
  assert.equal(bodyFault('{"a":1}\n{"b":').line, 2)
})
