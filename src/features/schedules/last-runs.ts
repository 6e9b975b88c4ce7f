import { z } from 'zod'
import type { Jobs, KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import type { ScheduleKey } from './about.ts'

/** How long (ms) the store keeps the end of a run. No run takes longer. */
const WEEK = 7 * DAY

const runSchema = z.object({ key: z.string(), at: z.number() })

/** The last run of each schedule with `overlap: skip`. */
export function createLastRuns(
  store: { kv: KeyValues; jobs: Pick<Jobs, 'end'> },
  queue: string,
  now: () => number,
) {
  const keyOf = ({ id, created }: ScheduleKey) => `schedule-run:${id}:${created}`
  const read = async (schedule: ScheduleKey) =>
    runSchema.safeParse((await store.kv.get(keyOf(schedule)))?.value).data
  return {
    /** Whether another run than that with this key is going on. */
    async isBusy(schedule: ScheduleKey, key: string): Promise<boolean> {
      const last = await read(schedule)
      if (!last || last.key === key || last.at < now() - WEEK) return false
      return (await store.jobs.end(queue, last.key)) === undefined
    },
    /** Called once the run is durable. A crash before that repeats the same run. */
    begin: (schedule: ScheduleKey, key: string) =>
      store.kv.set(keyOf(schedule), { key, at: now() }, { ttl: WEEK }),
    /**
     * Called before a run ends permanently: its dead letter may be dropped, and then its end is
     * unknown.
     */
    async end(schedule: ScheduleKey, key: string): Promise<void> {
      if ((await read(schedule))?.key === key) await store.kv.delete(keyOf(schedule))
    },
    forget: (schedule: ScheduleKey) => store.kv.delete(keyOf(schedule)),
  }
}
