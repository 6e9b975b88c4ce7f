import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { waitFor } from '../../src/lib/wait-for.ts'

/** Something that can be waited for: `put` makes it there and wakes whoever listens. */
function createBox<T>() {
  const listeners = new Set<() => void>()
  let value: T | undefined
  return {
    listeners,
    attempts: 0,
    put(given: T) {
      value = given
      for (const wake of listeners) wake()
    },
    wake() {
      for (const wake of listeners) wake()
    },
    async attempt(): Promise<{ value: T; retryAt?: never } | { retryAt?: number; value?: never }> {
      this.attempts++
      return value === undefined ? {} : { value }
    },
    watch(wake: () => void) {
      listeners.add(wake)
      return () => listeners.delete(wake)
    },
  }
}

const LONG = 20_000
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits for what comes into a box. */
function waitOn(
  box: ReturnType<typeof createBox<number>>,
  options: { timeout?: number; signal?: AbortSignal } = {},
) {
  return waitFor<number>({ attempt: () => box.attempt(), watch: box.watch, timeout: LONG, ...options })
}

describe('waitFor', () => {
  test('misses no wake-up that comes while it looks', async () => {
    const box = createBox<number>()
    const found = await waitFor<number>({
      async attempt() {
        const before = await box.attempt()
        // It comes just after the look found nothing, and before the wait begins.
        if (box.attempts === 1) box.put(7)
        return before
      },
      watch: box.watch,
      timeout: LONG,
    })
    assert.deepEqual([found, box.attempts], [7, 2])
  })

  test('looks again only when woken, and stops listening at the end', async () => {
    const box = createBox<number>()
    const waiting = waitOn(box)
    await turn()
    assert.equal(box.attempts, 1)
    box.wake()
    await turn()
    assert.equal(box.attempts, 2)
    box.put(3)
    assert.equal(await waiting, 3)
    assert.equal(box.listeners.size, 0)
  })

  test('returns nothing at the timeout, after one last look', async () => {
    const box = createBox<number>()
    const started = performance.now()
    assert.equal(await waitOn(box, { timeout: 40 }), undefined)
    assert.ok(performance.now() - started >= 35)
    assert.ok(box.attempts >= 2 && box.attempts <= 4, `${box.attempts} looks`)
    assert.equal(box.listeners.size, 0)
  })
})
