import assert from 'node:assert/strict'
import { test } from 'node:test'
import { soonestFirst } from '../../src/lib/retried-causes.ts'

test('messages that are tried again are in the order of their next attempts', () => {
  const rows = [19, 21, 27, 25, undefined].map((nextAt, at) => {
    return { message: at, attempt: nextAt === undefined ? undefined : { nextAt } }
  })
  assert.deepEqual(
    soonestFirst(rows).map(({ message }) => message),
    [4, 0, 1, 3, 2],
  )
})
