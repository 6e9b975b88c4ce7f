import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createForeignCheck } from '../../src/lib/json-schema.ts'

test('the path of an error contains names as the value has them, also with slashes and tildes', () => {
  const check = createForeignCheck({ type: 'object', properties: { 'a/b~c': { type: 'number' } } })
  assert.deepEqual(
    check({ 'a/b~c': 'x' })?.map(({ path }) => path),
    [['a/b~c']],
  )
})
