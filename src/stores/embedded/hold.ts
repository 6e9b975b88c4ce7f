/**
 * Holds something back while work runs, one piece of work at a time. `ended`: called after each.
 */
export function createHold(ended: () => void) {
  let current: Promise<void> | undefined
  return {
    isHeld: () => current !== undefined,
    /** Resolves when no work runs. */
    ended: async () => {
      while (current) await current
    },
    /** Waits for other work, and runs this one. Rejects with its error. */
    run: async (work: () => Promise<void>): Promise<void> => {
      while (current) await current
      const { promise, resolve } = Promise.withResolvers<void>()
      current = promise
      try {
        await work()
      } finally {
        current = undefined
        resolve()
        ended()
      }
    },
  }
}
