import type { TestContext } from 'node:test'

const stacks = new WeakMap<TestContext, AsyncDisposableStack>()

/**
 * Runs `work` after the test, the last registered first, so that a folder is removed after the
 * files in it are closed (`t.after` has the opposite order). All work runs, even if some of it
 * fails.
 */
export function cleanup(t: TestContext, work: () => unknown): void {
  const stack = stacks.get(t) ?? new AsyncDisposableStack()
  if (!stacks.has(t)) t.after(() => stack.disposeAsync())
  stacks.set(t, stack)
  stack.defer(async () => void (await work()))
}
