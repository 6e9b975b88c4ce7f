import { messageOfJob } from '../../core/resumed-job.ts'
import type { Jobs } from '../../core/store.ts'
import { isSame, type Pause } from './records.ts'
import type { Held } from './view.ts'

/** Held jobs read at most, and ids per pause. */
const [MOST_READ, MOST_IDS] = [1_000, 20]

/**
 * `waiting`: messages that a pause holds, alone or with others, without those behind them in their conversations. `messageIds`: the
 * oldest ones.
 */
export type HeldCount = { waiting: number; messageIds: string[] }

/** The pauses known to this daemon. */
export type PauseView = { list(): readonly Pause[]; pausesOf(job: Held): readonly Pause[] }

/** The count of a pause; undefined for a pause that began after the counting. */
export type CountOf = (pause: Pause) => HeldCount | undefined

/**
 * Counts what waits for each pause. Reads up to 1,000 held messages: with more, the counts are of the oldest. A pause is
 * found by what it pauses, because its record is a new object after each load.
 */
export async function heldCounts(jobs: Pick<Jobs, 'held'>, view: PauseView): Promise<CountOf> {
  const counts = view.list().map((pause) => ({ pause, waiting: 0, messageIds: [] as string[] }))
  const find = (pause: Pause) => counts.find((each) => isSame(each.pause, pause))
  const { items } = await jobs.held('dispatch', '', MOST_READ)
  for (const job of items) {
    for (const pause of view.pausesOf(job)) {
      const count = find(pause)
      if (!count) continue
      count.waiting++
      if (count.messageIds.length < MOST_IDS) count.messageIds.push(messageOfJob(job.id))
    }
  }
  return (pause) => {
    const found = find(pause)
    return found && { waiting: found.waiting, messageIds: found.messageIds }
  }
}
