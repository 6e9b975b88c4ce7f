import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY } from '../../src/core/units.ts'
import { waitFor } from '../../src/lib/wait-for.ts'

test('a wait does not miss a wake-up during an attempt', async () => {
  const listeners = new Set<() => void>()
  let value: number | undefined
  let attempts = 0
  const began = performance.now()
  const found = await waitFor<number>({
    async attempt() {
      const before = value
      // The value arrives after the first attempt read it, and before the wait begins.
      if (++attempts === 1) {
        value = 7
        for (const wake of listeners) wake()
      }
      return { value: before }
    },
    watch(wake) {
      listeners.add(wake)
      return () => listeners.delete(wake)
    },
    timeout: 20_000,
  })
  assert.deepEqual([found, attempts], [7, 2])
  // The attempt at the timeout would also find the value.
  assert.ok(performance.now() - began < 10_000, 'the wake-up was missed')
})

test('a jump of the wall clock does not change the time of a retry', async (t) => {
  for (const jump of [-DAY, DAY]) {
    const real = Date.now.bind(Date)
    const jumping = t.mock.method(Date, 'now', () => real() + jump)
    let attempts = 0
    const found = await waitFor<number>({
      attempt: async () => (++attempts === 3 ? { value: 3 } : { retryIn: 5 }),
      watch: () => () => {},
      timeout: 20_000,
    })
    assert.deepEqual([found, attempts], [3, 3])
    jumping.mock.restore()
  }
})
