import { messageOfJob } from '../../core/resumed-job.ts'
import type { Jobs } from '../../core/store.ts'
import { MOST_HELD } from '../../lib/held-text.ts'
import type { PausableJob } from './lookup.ts'
import { isSame, type Pause } from './records.ts'

/** Maximum number of message ids per pause. */
const MAX_IDS = 20

export type HeldCount = {
  /**
   * Number of messages that a pause holds, alone or together with other pauses. Messages behind
   * them in their conversations are not counted.
   */
  waiting: number
  /** The ids of the oldest of these messages. */
  messageIds: string[]
  /** The routes of these messages, also those whose skill calls a paused one. */
  routes: string[]
  /**
   * Number of runs without a message that a pause holds: of schedules and subscribed events. Runs
   * behind them in their schedules are not counted. Absent if there are none.
   */
  runs?: number
}

/** The pauses known to this daemon. */
export type PauseView = {
  list(): readonly Pause[]
  pausesOf(job: PausableJob): readonly Pause[]
  /** The queues of runs without a message. */
  runQueues: readonly string[]
  pauseOfRun(job: Pick<PausableJob, 'id' | 'group'>): Pause | undefined
}

/** The count of a pause; undefined for a pause that began after the counting. */
export type CountOf = (pause: Pause) => HeldCount | undefined

/**
 * Counts the messages and the runs without a message that each pause holds back, among the oldest
 * 1,000 held ones of each queue. The result compares pauses by `isSame`, because a pause is a new object after each load.
 */
export async function heldCounts(jobs: Pick<Jobs, 'held'>, view: PauseView): Promise<CountOf> {
  const counts = view
    .list()
    .map((pause) => ({ pause, waiting: 0, messageIds: [] as string[], routes: [] as string[], runs: 0 }))
  const find = (pause: Pause) => counts.find((each) => isSame(each.pause, pause))
  const { items } = counts.length > 0 ? await jobs.held('dispatch', '', MOST_HELD) : { items: [] }
  for (const job of items) {
    for (const pause of view.pausesOf(job)) {
      const count = find(pause)
      if (!count) continue
      count.waiting++
      if (!count.routes.includes(job.group)) count.routes.push(job.group)
      if (count.messageIds.length < MAX_IDS) count.messageIds.push(messageOfJob(job.id))
    }
  }
  for (const pause of await pausesOfRuns(jobs, view)) {
    const count = find(pause)
    if (count) count.runs++
  }
  return (pause) => {
    const found = find(pause)
    if (!found) return undefined
    const { waiting, messageIds, routes, runs } = found
    return { waiting, messageIds, routes, ...(runs > 0 && { runs }) }
  }
}

/** The pause of each held run without a message. Only pauses of skills hold such runs. */
async function pausesOfRuns(jobs: Pick<Jobs, 'held'>, view: PauseView): Promise<Pause[]> {
  if (!view.list().some(({ kind }) => kind === 'skill')) return []
  const pages = await Promise.all(view.runQueues.map((queue) => jobs.held(queue, '', MOST_HELD)))
  return pages.flatMap(({ items }) => items.flatMap((job) => view.pauseOfRun(job) ?? []))
}

/** How long (ms) the number of held messages is cached, as it is read every second. */
const LIFETIME = 2_000

/**
 * Makes a reader of the number of messages that pauses hold back, up to 1,000. Messages behind them
 * in their conversations are not counted. 0 if the store cannot be reached.
 */
export function createHeldTotal(
  jobs: Pick<Jobs, 'held'>,
  view: Pick<PauseView, 'list'>,
  now: () => number,
): () => Promise<number> {
  let readAt = Number.NEGATIVE_INFINITY
  let total = Promise.resolve(0)
  return () => {
    if (view.list().length === 0) return Promise.resolve(0)
    if (now() - readAt >= LIFETIME) {
      readAt = now()
      total = jobs.held('dispatch', '', MOST_HELD).then(
        ({ items }) => items.length,
        () => 0,
      )
    }
    return total
  }
}
