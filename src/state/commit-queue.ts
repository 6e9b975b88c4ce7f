/**
 * Gathers work of many callers into batches: what arrives while a batch is being written goes into the next
 * one together, so that one sync of the disk serves all. `run` settles every job of its batch.
 */
export function createCommitQueue<Job>(run: (jobs: Job[]) => Promise<void>): {
  push(job: Job): void
  /** Resolves when everything pushed so far has been settled. */
  idle(): Promise<void>
} {
  const MOST = 1000
  let waiting: Job[] = []
  let running: Promise<void> | undefined

  const drain = async () => {
    // Jobs of the same turn of the event loop share the first batch.
    await Promise.resolve()
    while (waiting.length > 0) {
      const jobs = waiting.slice(0, MOST)
      waiting = waiting.slice(MOST)
      await run(jobs)
    }
    running = undefined
  }

  return {
    push(job) {
      waiting.push(job)
      running ??= drain()
    },
    async idle() {
      while (running) await running
    },
  }
}
