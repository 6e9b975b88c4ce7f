import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertPrompt, inProportion, inTime } from '../fixtures/in-time.ts'

const spin = (steps: number) => {
  let sum = 0
  for (let step = 0; step < steps; step++) sum = Math.imul(sum ^ step, 0x9e3779b1)
  return sum
}
/** Steps that take far more than the limit of 2 ms. */
const SLOW = 100_000_000

describe('a limit for the time of work', () => {
  test('passes work that grows with its size, however long it takes', async () => {
    assert.equal(await inProportion('linear', 1000, (size) => spin(size * 100_000) && size), 1000)
    await inProportion('sorted', 400_000, (size) =>
      Array.from({ length: size }, (_, at) => (at * 7919) % size).sort((a, b) => a - b),
    )
  })

  test('fails work that grows with the square of its size, or faster', async () => {
    await assert.rejects(
      inProportion('square', 14_000, (size) => spin(size ** 2)),
      /"square" took/,
    )
    const pattern = /^(a|aa)+$/
    await assert.rejects(
      inProportion('exponential', 36, (size) => pattern.test(`${'a'.repeat(size)}b`)),
      /took/,
    )
  })

  test('fails work over its limit on a machine of any speed', async () => {
    await assert.rejects(
      inTime('long', 2, () => spin(SLOW)),
      /"long" took/,
    )
    assert.equal(await inTime('short', 1_000, () => 7), 7)
  })

  test('fails a wait over its limit, which is longer on a busy machine', async () => {
    await assertPrompt('prompt', 90, 100)
    await assert.rejects(assertPrompt('never', 3_600_000, 100), /"never" took 3600000 ms/)
  })
})
