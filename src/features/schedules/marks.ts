import { z } from 'zod'
import type { Jobs, KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import type { Place } from './about.ts'

const PAUSED = 'schedules-paused'
const WEEK = 7 * 86_400_000

const pausedSchema = z.record(z.string(), z.object({ since: z.number() })).catch({})

/** The paused schedules, in the store: for all daemons and all kinds of schedules. */
export function createSchedulePauses(kv: KeyValues, now: () => number) {
  const read = async () => pausedSchema.parse((await kv.get(PAUSED))?.value ?? {})
  return {
    read,
    /** An existing pause stays unchanged. */
    add: (id: string) =>
      updateKv(kv, PAUSED, (current) => {
        const paused = pausedSchema.parse(current ?? {})
        return Object.hasOwn(paused, id) ? undefined : { value: { ...paused, [id]: { since: now() } } }
      }),
    end: (id: string) =>
      updateKv(kv, PAUSED, (current) => {
        const { [id]: gone, ...others } = pausedSchema.parse(current ?? {})
        return gone && { value: others }
      }),
  }
}

const runSchema = z.object({ key: z.string(), at: z.number() })

/** The last run of each schedule with `overlap: skip`. */
export function createLastRuns(
  store: { kv: KeyValues; jobs: Pick<Jobs, 'end'> },
  queue: string,
  now: () => number,
) {
  const place = ({ id, created }: Place) => `schedule-run:${id}:${created}`
  const read = async (schedule: Place) =>
    runSchema.safeParse((await store.kv.get(place(schedule)))?.value).data
  return {
    /**
     * Whether another run has not ended yet. The end of a run is known for a week, and no run lasts
     * that long.
     */
    async isBusy(schedule: Place, key: string): Promise<boolean> {
      const last = await read(schedule)
      if (!last || last.key === key || last.at < now() - WEEK) return false
      return (await store.jobs.end(queue, last.key)) === undefined
    },
    /** Called once the run is durable. A crash before repeats the run, which is then the same. */
    begin: (schedule: Place, key: string) => store.kv.set(place(schedule), { key, at: now() }, { ttl: WEEK }),
    /**
     * Called before a run ends permanently: its dead letter may be dropped, after which its end is
     * unknown.
     */
    async end(schedule: Place, key: string): Promise<void> {
      if ((await read(schedule))?.key === key) await store.kv.delete(place(schedule))
    },
    forget: (schedule: Place) => store.kv.delete(place(schedule)),
  }
}
