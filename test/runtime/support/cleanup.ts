import type { TestContext } from 'node:test'

const stacks = new WeakMap<TestContext, AsyncDisposableStack>()

/**
 * Runs `work` after the test, the last registered first (`t.after` runs the first one first), so that a
 * folder goes after what is open in it. All of it runs, whatever fails.
 */
export function cleanup(t: TestContext, work: () => unknown): void {
  const stack = stacks.get(t) ?? new AsyncDisposableStack()
  if (!stacks.has(t)) t.after(() => stack.disposeAsync())
  stacks.set(t, stack)
  stack.defer(async () => void (await work()))
}
