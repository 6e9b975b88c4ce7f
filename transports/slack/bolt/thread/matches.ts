import type { App } from './hosted.ts'

type Step = (args: unknown) => unknown

/** The listeners that are watched already. An app may add some at any time. */
const watched = new WeakSet<Step[]>()

/**
 * Calls `reached` when an event gets past the global middleware of an App, and `matched` when one
 * of its listeners runs. Bolt reports neither.
 */
export function watchListeners(app: App, { reached, matched }: Record<'reached' | 'matched', () => void>) {
  // Private in Bolt: of each listener, its matchers, its middleware and its function.
  const { listeners = [] }: { listeners?: Step[][] } = Object(app)
  for (const steps of listeners) {
    if (watched.has(steps)) continue
    watched.add(steps)
    before(steps, steps.length - 1, matched)
    before(steps, 0, reached)
  }
}

/** Calls `call` before a step. */
function before(steps: Step[], index: number, call: () => void): void {
  const step = steps[index]
  if (!step) return
  steps[index] = (args) => {
    call()
    return step(args)
  }
}
