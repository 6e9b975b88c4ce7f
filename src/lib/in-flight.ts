/** Counts what is under way, so that whoever stops can wait for the end of it. */
export function createInFlight() {
  let count = 0
  let emptied: (() => void) | undefined
  return {
    enter(): void {
      count++
    },
    leave(): void {
      count--
      if (count === 0) emptied?.()
    },
    /** Whether `stop` was called: then nothing more may enter. */
    isStopping: () => emptied !== undefined,
    /** Resolves when nothing is under way. */
    stop(): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      emptied = resolve
      if (count === 0) resolve()
      return promise
    },
  }
}
