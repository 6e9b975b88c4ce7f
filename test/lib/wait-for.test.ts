import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { waitFor } from '../../src/lib/wait-for.ts'

/** Something that can be waited for: `put` makes it there and wakes whoever listens. */
function createBox() {
  const listeners = new Set<() => void>()
  let value: number | undefined
  return {
    listeners,
    attempts: 0,
    put(given?: number) {
      value = given
      for (const wake of listeners) wake()
    },
    async attempt(): Promise<{ value?: number }> {
      this.attempts++
      return value === undefined ? {} : { value }
    },
    wait(timeout = 20_000, attempt = () => this.attempt()) {
      const watch = (wake: () => void) => {
        listeners.add(wake)
        return () => listeners.delete(wake)
      }
      return waitFor<number>({ attempt, watch, timeout })
    },
  }
}

describe('waitFor', () => {
  test('misses no wake-up that comes while it looks', async () => {
    const box = createBox()
    const found = await box.wait(20_000, async () => {
      const before = await box.attempt()
      // It comes just after the look found nothing, and before the wait begins.
      if (box.attempts === 1) box.put(7)
      return before
    })
    assert.deepEqual([found, box.attempts], [7, 2])
  })
})
