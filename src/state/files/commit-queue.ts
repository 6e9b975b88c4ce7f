/** Gathers the work of many callers into batches, so that one sync of the disk serves all of a batch. */
export type CommitQueue<Job> = {
  /** Resolves when the batch with this job was run, and rejects with what that threw. */
  push(job: Job): Promise<void>
  /** Resolves when everything pushed so far has ended. */
  idle(): Promise<void>
}

const MOST = 1000

/** What is pushed while a batch is being run goes into the next one together. One batch runs at a time. */
export function createCommitQueue<Job>(run: (jobs: Job[]) => Promise<void>): CommitQueue<Job> {
  let waiting: { job: Job; resolve(): void; reject(error: unknown): void }[] = []
  let running: Promise<void> | undefined

  const drain = async () => {
    // Jobs of the same turn of the event loop share the first batch.
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MOST)
      waiting = waiting.slice(MOST)
      try {
        await run(batch.map(({ job }) => job))
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    running = undefined
  }

  return {
    push: (job) =>
      new Promise((resolve, reject) => {
        waiting.push({ job, resolve, reject })
        running ??= drain()
      }),
    async idle() {
      while (running) await running
    },
  }
}
