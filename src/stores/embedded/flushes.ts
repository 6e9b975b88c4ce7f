/** A caller that waits until its transaction is on the disk. */
export type Settled = { resolve(): void; reject(error: unknown): void }

/**
 * Resolves committed calls once they are on the disk. One flush runs at a time; calls added
 * meanwhile wait for the next one. `failed` gets all calls that were not flushed.
 */
export function createFlushes(
  flush: () => Promise<void>,
  on: { flushed(): void; failed(error: unknown, lost: readonly Settled[]): void },
) {
  let flushing: Settled[] = []
  let unflushed: Settled[] = []
  let lastFlush: Promise<void> = Promise.resolve()

  function start(): void {
    if (flushing.length > 0 || unflushed.length === 0) return
    flushing = unflushed
    unflushed = []
    lastFlush = flush().then(flushed, failed)
  }

  function flushed(): void {
    for (const one of flushing.splice(0)) one.resolve()
    start()
    on.flushed()
  }

  function failed(error: unknown): void {
    on.failed(error, [...flushing.splice(0), ...unflushed.splice(0)])
  }

  return {
    add: (settled: readonly Settled[]) => void unflushed.push(...settled),
    /** Starts a flush, unless one is running or nothing waits for it. */
    start,
    isRunning: () => flushing.length > 0,
    /** Resolves when everything added so far is settled. */
    async finish(): Promise<void> {
      start()
      while (flushing.length > 0) await lastFlush
    },
  }
}
