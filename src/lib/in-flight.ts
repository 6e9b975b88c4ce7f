/** Counts what is under way, so that whoever stops can wait for the end of it. */
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
    /** Whether `stop` was called: then nothing more may enter. */
    isStopping: () => stopping,
    /** Resolves when nothing is under way, for each who stops: a reload may do it in the middle of a drain. */
    stop(): Promise<void> {
      stopping = true
      if (count === 0) emptied.resolve()
      return emptied.promise
    },
  }
}
