/**
 * Runs pieces of work one after another; `isHeld` while one runs. `ended` is called after each.
 */
export function createHold(ended: () => void) {
  let current: Promise<void> | undefined
  return {
    isHeld: () => current !== undefined,
    /** Resolves when no work runs. */
    ended: async () => {
      while (current) await current
    },
    /** Waits for other work, then runs this work. Rejects with its error. */
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
