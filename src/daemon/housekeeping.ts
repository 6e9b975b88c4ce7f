import type { Log } from '../core/log.ts'
import type { Retention, Store } from '../core/store.ts'
import { createLoop } from '../lib/loop.ts'

const TRIM_EVERY = 60_000
const BACKLOG_EVERY = 1_000
const MAINTAIN_EVERY = 2_000

/** The regular work beside the roads: retention, and watching how far dispatch is behind. */
export function createHousekeeping(options: {
  store: Store
  retention(): Retention
  backlog(unpumped: number): void
  /** Whatever else wants to be done every few seconds. */
  maintain(): Promise<void>
  log: Log
}) {
  const { store, log } = options

  /** What is left is removed at once, but not in one go. */
  const trim = async () => {
    const { removed } = await store.trim(options.retention())
    return removed > 0 ? 0 : TRIM_EVERY
  }
  const watchBacklog = async () => options.backlog((await store.stats()).dispatch.unpumped)

  const tasks = [
    repeat(trim, TRIM_EVERY, 'retention', log),
    repeat(watchBacklog, BACKLOG_EVERY, 'backlog', log),
    repeat(options.maintain, MAINTAIN_EVERY, 'skills', log),
  ]

  return {
    start() {
      for (const task of tasks) task.start()
    },
    stop: () => Promise.all(tasks.map((task) => task.stop())),
  }
}

/**
 * A task that is done again and again, `every` ms after it ended, or as many as the step returned. One that fails is
 * tried again at its next time.
 */
export function repeat(step: () => Promise<unknown>, every: number, task: string, log: Log) {
  return createLoop({
    async step() {
      const told = await step()
      return typeof told === 'number' ? told : every
    },
    failed: (err) => log.debug({ task, err }, 'housekeeping failed; it is tried again'),
    pause: every,
  })
}
