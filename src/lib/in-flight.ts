/** Counts work in flight, so that a stop can wait for it. */
export function createInFlight() {
  let count = 0
  let stopping = false
  const emptied = Promise.withResolvers<void>()
  return {
    enter(): void {
      count++
    },
    leave(): void {
      count--
      if (stopping && count === 0) emptied.resolve()
    },
    /** Whether `stop` was called, after which no more work may enter. */
    isStopping: () => stopping,
    /**
     * Resolves when nothing is in flight. May be called several times: a reload can call it in the
     * middle of a drain.
     */
    stop(): Promise<void> {
      stopping = true
      if (count === 0) emptied.resolve()
      return emptied.promise
    },
  }
}
