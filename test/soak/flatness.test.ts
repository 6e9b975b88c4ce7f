import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from './flatness.ts'

const hour = (value: (minute: number) => number) =>
  Array.from({ length: 60 }, (_, minute) => ({ memory: value(minute) }))
const isFlat = (value: (minute: number) => number) =>
  judge(hour(value), { memory: { share: 0.1, amount: 5 } })[0]?.isFlat

test('what rises only during the warm-up is flat, and so is one peak', () => {
  assert.equal(
    isFlat((minute) => Math.min(100, minute * 5)),
    true,
  )
  assert.equal(
    isFlat((minute) => (minute === 55 ? 900 : 100)),
    true,
  )
})

test('what goes on rising is a leak, also slowly', () => {
  assert.equal(
    isFlat((minute) => 100 + minute / 2),
    false,
  )
  assert.equal(
    isFlat((minute) => 20 + minute / 5),
    false,
  )
})
