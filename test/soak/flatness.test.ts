import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from './flatness.ts'

const hour = (value: (minute: number) => number) =>
  Array.from({ length: 60 }, (_, minute) => ({ memory: value(minute) }))
const isFlat = (value: (minute: number) => number) =>
  judge(hour(value), { memory: { share: 0.1, amount: 5 } })[0]?.isFlat

test('a rise during the warm-up, or a single peak, is flat', () => {
  assert.equal(
    isFlat((minute) => Math.min(100, minute * 5)),
    true,
  )
  assert.equal(
    isFlat((minute) => (minute === 55 ? 900 : 100)),
    true,
  )
})

test('a lasting rise is not flat, even if it is slow', () => {
  assert.equal(
    isFlat((minute) => 100 + minute / 2),
    false,
  )
  assert.equal(
    isFlat((minute) => 20 + minute / 5),
    false,
  )
})
