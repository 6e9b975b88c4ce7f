import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sortedApprovals } from '../../src/cli/approval-order.ts'
import { objectsIn } from '../../src/core/json.ts'

const request = (id: string, amount: string, requestedAt: number, expiresAt: number, status = 'pending') => ({
  ...{ id, args: { order: '46788', amount }, requestedAt, expiresAt, status },
})
const REQUESTS = [
  request('denied', '9999.00 EUR', 1, 1, 'denied'),
  request('small', '32.90 EUR', 3, 90),
  request('large', '1240.00 EUR', 4, 80),
  request('old', '89.00 EUR', 2, 70),
]

test('approval list --sort puts the highest amount, the oldest or the nearest deadline first', () => {
  const inOrder = (sort: string) => objectsIn(sortedApprovals(REQUESTS, sort)).map(({ id }) => id)
  assert.deepEqual(inOrder('amount'), ['large', 'old', 'small', 'denied'])
  assert.deepEqual(inOrder('oldest'), ['old', 'small', 'large', 'denied'])
  assert.deepEqual(inOrder('deadline'), ['old', 'large', 'small', 'denied'])
  assert.equal(sortedApprovals(REQUESTS, undefined), REQUESTS)
  assert.throws(() => sortedApprovals(REQUESTS, 'size'), /--sort is one of amount, oldest, deadline/)
})
