import type { Log } from '../core/log.ts'
import type { Retention } from '../core/retention.ts'
import type { Store } from '../core/store.ts'
import { HOUR, MINUTE } from '../core/units.ts'
import type { History } from '../features/live/history.ts'
import { repeat } from '../lib/loop.ts'

/** Intervals of the background work in ms. */
const TRIM_INTERVAL = MINUTE
const BACKLOG_INTERVAL = 1_000
const APPROVALS_INTERVAL = 2_000
const REFUSALS_INTERVAL = 10_000
const SWEEP_INTERVAL = HOUR

/**
 * Makes the background work of a daemon: retention, histories, the backlog of dispatch, approvals,
 * and the state of skills. `stop` stores the refusals that were counted last.
 */
export function createHousekeeping(deps: {
  store: Pick<Store, 'trim' | 'stats'>
  retention(): Retention
  history: Pick<History, 'sample' | 'every'>
  /** The history of the backlog of consumer groups. */
  groupHistory: Pick<History, 'sample' | 'every'>
  refusalHistory: { flush(): Promise<void> }
  accept: { setBacklog(count: number): void }
  storePause: { since(): number | undefined }
  approvals: { sweep(): Promise<void> }
  runtime: { sweep(): Promise<void> }
  log: Log
}) {
  const { store, history, groupHistory, log } = deps
  /** When the current backlog of retention began. */
  let backlogSince: number | undefined
  const trim = async () => {
    const began = performance.now()
    const { more } = await store.trim(deps.retention())
    if (!more) {
      backlogSince = undefined
      return TRIM_INTERVAL
    }
    backlogSince ??= began
    return pauseAfter(performance.now() - began, began - backlogSince)
  }
  const watchBacklog = async () => {
    const isPaused = deps.storePause.since() !== undefined
    deps.accept.setBacklog(isPaused ? 0 : (await store.stats()).dispatch.unpumped)
  }
  const tasks = [
    repeat(trim, TRIM_INTERVAL, 'retention', log),
    repeat(history.sample, history.every, 'history', log),
    repeat(groupHistory.sample, groupHistory.every, 'history of groups', log),
    repeat(deps.refusalHistory.flush, REFUSALS_INTERVAL, 'counts of refusals', log),
    repeat(watchBacklog, BACKLOG_INTERVAL, 'backlog', log),
    repeat(deps.approvals.sweep, APPROVALS_INTERVAL, 'approvals', log),
    repeat(deps.runtime.sweep, SWEEP_INTERVAL, 'state', log),
  ]
  return {
    start(): void {
      for (const task of tasks) task.start()
    },
    async stop(): Promise<void> {
      await Promise.all(tasks.map((task) => task.stop()))
      await deps.refusalHistory.flush()
    },
  }
}

/**
 * The pause (ms) after a batch of retention, for other work that needs the disk and the event loop.
 * At first it is as long as the batch took. The longer a backlog lasts, the shorter it becomes, so
 * that retention keeps up with any rate of messages.
 */
export function pauseAfter(batchTime: number, backlogTime: number): number {
  return (batchTime * TRIM_INTERVAL) / (TRIM_INTERVAL + backlogTime)
}
