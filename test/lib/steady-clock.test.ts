import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createSteadyClock } from '../../src/lib/steady-clock.ts'

const [SECOND, HOUR, DAY] = [1_000, 3_600_000, 86_400_000]
const START = Date.UTC(2026, 10, 27)

function stage() {
  let elapsed = 5_000
  let ahead = 0
  const now = createSteadyClock(
    () => START + elapsed + ahead,
    () => elapsed,
  )
  /** How far the clock is from the time that has really passed, after so many ms with a look at each second. */
  const after = (ms: number) => {
    for (let left = ms; left > 0; left -= SECOND) {
      elapsed += Math.min(left, SECOND)
      now()
    }
    return now() - (START + elapsed)
  }
  const set = (ms: number) => {
    ahead = ms
  }
  return { after, set }
}

describe('the steady clock', () => {
  test('ignores a wall clock that is a day ahead, or an hour back, for six seconds', () => {
    for (const jump of [DAY, -HOUR]) {
      const { after, set } = stage()
      set(jump)
      assert.equal(after(6 * SECOND), 0)
      set(0)
      assert.equal(after(HOUR), 0)
    }
  })

  test('follows a jump that lasts, within a minute', () => {
    for (const jump of [DAY, -HOUR]) {
      const { after, set } = stage()
      set(jump)
      assert.equal(after(20 * SECOND), 0)
      assert.equal(after(40 * SECOND), jump)
      set(0)
      assert.equal(after(60 * SECOND), 0)
    }
  })

  test('follows small corrections immediately, and a clock that wanders stays near it', () => {
    const { after, set } = stage()
    for (let step = 1; step <= 100; step++) {
      set(step * 500)
      assert.equal(after(SECOND), step * 500)
    }
  })

  test('waits anew where one jump follows another', () => {
    const { after, set } = stage()
    set(DAY)
    after(20 * SECOND)
    set(2 * DAY)
    assert.equal(after(20 * SECOND), 0)
    assert.equal(after(20 * SECOND), 2 * DAY)
  })

  test('is the time of the system to begin with', () => {
    assert.ok(Math.abs(createSteadyClock()() - Date.now()) < SECOND)
    assert.ok(Number.isInteger(createSteadyClock()()))
  })
})
