import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCount } from '../../src/lib/name-counts.ts'

test('a name that every object inherits is counted from zero, like any other name', () => {
  const counts: Record<string, number> = {}
  for (const name of ['constructor', 'orders', 'constructor']) addCount(counts, name)
  addCount(counts, 'toString', 5)
  assert.deepEqual(counts, { constructor: 2, orders: 1, toString: 5 })
})
