import type { Log } from '../core/log.ts'
import type { Retention, Store } from '../core/store.ts'
import type { History } from '../features/live/history.ts'
import { repeat } from '../lib/loop.ts'

/** Intervals of the background work in ms. */
const TRIM_EVERY = 60_000
const BACKLOG_EVERY = 1_000
const APPROVALS_EVERY = 2_000
const SWEEP_EVERY = 3_600_000

/** Makes the background work of a daemon: retention, history, backlog, approvals and skill state. */
export function createHousekeeping(deps: {
  store: Pick<Store, 'trim' | 'stats'>
  retention(): Retention
  history: Pick<History, 'sample' | 'every'>
  accept: { setBacklog(count: number): void }
  approvals: { sweep(): Promise<void> }
  runtime: { sweep(): Promise<void> }
  log: Log
}) {
  const { store, history, log } = deps
  const trim = async () => {
    const { removed } = await store.trim(deps.retention())
    // The rest follows immediately, in further steps.
    return removed > 0 ? 0 : TRIM_EVERY
  }
  const watchBacklog = async () => deps.accept.setBacklog((await store.stats()).dispatch.unpumped)
  const tasks = [
    repeat(trim, TRIM_EVERY, 'retention', log),
    repeat(history.sample, history.every, 'history', log),
    repeat(watchBacklog, BACKLOG_EVERY, 'backlog', log),
    repeat(deps.approvals.sweep, APPROVALS_EVERY, 'approvals', log),
    repeat(deps.runtime.sweep, SWEEP_EVERY, 'state', log),
  ]
  return {
    start(): void {
      for (const task of tasks) task.start()
    },
    stop: () => Promise.all(tasks.map((task) => task.stop())),
  }
}
