import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bodyText } from '../../src/lib/body-text.ts'

test('a JSON body is indented, and another text stays as it is', () => {
  assert.equal(bodyText('{"order":{"id":5001}}'), '{\n  "order": {\n    "id": 5001\n  }\n}')
  assert.equal(bodyText('[broken'), '[broken')
  assert.equal(bodyText('Hello,\n\nit leaks.\n'), 'Hello,\n\nit leaks.')
})

test('a long body ends with the number of its other lines and the command that shows them', () => {
  assert.equal(bodyText('1\n2\n3\n4', 2, '`trivium x`'), '1\n2\n… 2 more lines: `trivium x`')
  assert.equal(bodyText('1\n2\n3', 2), '1\n2\n3')
})
