import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retriedCauses, soonestFirst } from '../../src/lib/retried-causes.ts'

test('messages that are tried again are in the order of their next attempts', () => {
  const rows = [19, 21, 27, 25, undefined].map((nextAt, at) => {
    return { message: at, attempt: nextAt === undefined ? undefined : { nextAt } }
  })
  assert.deepEqual(
    soonestFirst(rows).map(({ message }) => message),
    [4, 0, 1, 3, 2],
  )
})

test('the error of several messages that are tried again leaves out what differs', () => {
  const carrier = (order: number) => ({
    error: `the carrier answered 500 Internal Server Error for order ${order}`,
    nextAt: order,
  })
  assert.deepEqual(retriedCauses([carrier(47166), { error: 'order 7 has no stock' }, carrier(47180)]), [
    { count: 2, error: 'the carrier answered 500 Internal Server Error for order …', nextAt: 47166 },
    { count: 1, error: 'order 7 has no stock' },
  ])
})
