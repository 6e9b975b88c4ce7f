import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitFor } from '../../src/lib/wait-for.ts'

test('what is waited for misses no wake-up that comes while it looks', async () => {
  const listeners = new Set<() => void>()
  let value: number | undefined
  let attempts = 0
  const began = performance.now()
  const found = await waitFor<number>({
    async attempt() {
      const before = value
      // It comes just after the first look found nothing, and before the wait begins.
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
  // At its timeout it looks once more.
  assert.ok(performance.now() - began < 10_000, 'the wake-up was missed')
})

test('a retry is neither held nor hurried by a wall clock that jumps', async (t) => {
  for (const jump of [-86_400_000, 86_400_000]) {
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
