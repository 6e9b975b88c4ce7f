import type { TestContext } from 'node:test'

const stacks = new WeakMap<TestContext, (() => unknown)[]>()

/**
 * Runs `work` after the test, the last registered first (`t.after` runs the first one first), so that a
 * folder goes after what is open in it. All of it runs, whatever fails; then the first failure is thrown.
 */
export function cleanup(t: TestContext, work: () => unknown): void {
  const existing = stacks.get(t)
  if (existing) {
    existing.push(work)
    return
  }
  const stack = [work]
  stacks.set(t, stack)
  t.after(async () => {
    const failures: unknown[] = []
    for (const next of stack.toReversed()) {
      try {
        await next()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  })
}
