import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY, HOUR } from '../../src/core/units.ts'
import { createSteadyClock } from '../../src/lib/steady-clock.ts'

const SECOND = 1_000
const START = Date.UTC(2026, 10, 27)

function start() {
  let elapsed = 5_000
  let ahead = 0
  const now = createSteadyClock(
    () => START + elapsed + ahead,
    () => elapsed,
  )
  /** Lets `ms` pass, reading the clock every second. Returns its deviation from the real time. */
  const deviationAfter = (ms: number) => {
    for (let left = ms; left > 0; left -= SECOND) {
      elapsed += Math.min(left, SECOND)
      now()
    }
    return now() - (START + elapsed)
  }
  /** Sets the wall clock this far ahead of the real time. */
  const set = (ms: number) => {
    ahead = ms
  }
  return { deviationAfter, set }
}

describe('the steady clock', () => {
  test('ignores a wall clock that is a day ahead, or an hour back, for six seconds', () => {
    for (const jump of [DAY, -HOUR]) {
      const { deviationAfter, set } = start()
      set(jump)
      assert.equal(deviationAfter(6 * SECOND), 0)
      set(0)
      assert.equal(deviationAfter(HOUR), 0)
    }
  })

  test('follows a lasting jump within a minute', () => {
    for (const jump of [DAY, -HOUR]) {
      const { deviationAfter, set } = start()
      set(jump)
      assert.equal(deviationAfter(20 * SECOND), 0)
      assert.equal(deviationAfter(40 * SECOND), jump)
      set(0)
      assert.equal(deviationAfter(60 * SECOND), 0)
    }
  })

  test('follows many small corrections immediately', () => {
    const { deviationAfter, set } = start()
    for (let step = 1; step <= 100; step++) {
      set(step * 500)
      assert.equal(deviationAfter(SECOND), step * 500)
    }
  })

  test('waits again after a second jump', () => {
    const { deviationAfter, set } = start()
    set(DAY)
    deviationAfter(20 * SECOND)
    set(2 * DAY)
    assert.equal(deviationAfter(20 * SECOND), 0)
    assert.equal(deviationAfter(20 * SECOND), 2 * DAY)
  })

  test('starts with the time of the system', () => {
    assert.ok(Math.abs(createSteadyClock()() - Date.now()) < SECOND)
    assert.ok(Number.isInteger(createSteadyClock()()))
  })
})
