import type { Jobs } from '../../core/store.ts'
import type { Pause } from './records.ts'
import type { Held } from './view.ts'

/** Held jobs read at most, and ids per pause. */
const [MOST_READ, MOST_IDS] = [1_000, 20]

/** `waiting`: held messages of a pause, without those behind them in their conversations. `messageIds`: the oldest ones. */
export type HeldCount = { waiting: number; messageIds: string[] }

/** Counts what waits for each pause. Reads up to 1,000 held messages: with more, the counts are of the oldest. */
export async function heldCounts(
  jobs: Pick<Jobs, 'held'>,
  pauseOf: (job: Held) => Pause | undefined,
): Promise<ReadonlyMap<Pause, HeldCount>> {
  const { items } = await jobs.held('dispatch', '', MOST_READ)
  const counts = new Map<Pause, HeldCount>()
  for (const job of items) {
    const pause = pauseOf(job)
    if (!pause) continue
    const known = counts.get(pause) ?? { waiting: 0, messageIds: [] }
    const messageIds = known.messageIds.length < MOST_IDS ? [...known.messageIds, job.id] : known.messageIds
    counts.set(pause, { waiting: known.waiting + 1, messageIds })
  }
  return counts
}
