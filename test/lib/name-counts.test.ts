import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCount } from '../../src/lib/name-counts.ts'

test('counts of names that objects inherit begin at zero', () => {
  const counts: Record<string, number> = {}
  for (const name of ['constructor', 'orders', 'constructor']) addCount(counts, name)
  addCount(counts, 'toString', 5)
  assert.deepEqual(counts, { constructor: 2, orders: 1, toString: 5 })
})
