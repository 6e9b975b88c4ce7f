import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import { changedPause, isOver, type PauseRecord, pauseFields } from '../../core/pause-record.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredRecord } from '../../core/stored-entries.ts'
import { updateKv } from '../../core/update-kv.ts'
import { createPauseCosts } from './pause-cost.ts'

const PAUSED = 'schedules-paused'

/** `by` is absent in pauses of older versions. */
const pauseSchema = z.object({ ...pauseFields, by: pauseFields.by.exactOptional() })

/** The pauses, by the id of the schedule. */
export type PausedSchedules = Readonly<Record<string, z.infer<typeof pauseSchema>>>

const readPaused = (value: Json | undefined) => readStoredRecord(pauseSchema, value)

/** The paused schedules, in the store: for all daemons and all kinds of schedules. */
export function createSchedulePauses(kv: KeyValues) {
  return {
    /** All pauses, also those that are over but not removed yet. */
    read: async (): Promise<PausedSchedules> => readPaused((await kv.get(PAUSED))?.value).entries,
    /** Resolves with the pause before, and the new one. */
    async begin(id: string, begun: PauseRecord) {
      let before: PauseRecord | undefined
      let after = begun
      await updateKv(kv, PAUSED, (current) => {
        const { entries, write } = readPaused(current)
        before = pauseOf(entries, id)
        after = changedPause(before, begun)
        return { value: write({ ...entries, [id]: after }) }
      })
      return { before, after }
    },
    /** Ends a pause; with `until`, only one that ends then. Resolves with whether there was one. */
    async end(id: string, until?: number): Promise<boolean> {
      let isEnded = false
      await updateKv(kv, PAUSED, (current) => {
        const { entries, write } = readPaused(current)
        const { [id]: paused, ...others } = entries
        isEnded = paused !== undefined && (until === undefined || paused.until === until)
        return isEnded ? { value: write(others) } : undefined
      })
      return isEnded
    },
  }
}

/** The pause of a schedule. Safe for an id such as `constructor`. */
export function pauseOf(paused: PausedSchedules, id: string): PausedSchedules[string] | undefined {
  return Object.hasOwn(paused, id) ? paused[id] : undefined
}

/** The pause of a schedule, unless it is over. */
export function presentPauseOf(paused: PausedSchedules, id: string, now: number) {
  const pause = pauseOf(paused, id)
  return pause && !isOver(pause, now) ? pause : undefined
}

/**
 * Makes a function that lists the paused schedules, with what their pauses skip. A pause may be of
 * a schedule that is gone.
 */
export function pausedLister(
  pauses: Pick<ReturnType<typeof createSchedulePauses>, 'read'>,
  schedules: () => Promise<readonly Schedule[]>,
  now: () => number,
) {
  const costOf = createPauseCosts()
  return async () => {
    const paused = await pauses.read()
    if (Object.keys(paused).length === 0) return []
    return (await schedules()).flatMap((schedule) => {
      const pause = presentPauseOf(paused, schedule.id, now())
      if (!pause) return []
      const { id, name } = schedule
      return [{ id, name, ...pause, cost: costOf(schedule, pause, now()) }]
    })
  }
}

/** A paused schedule. `cost`: what its pause skips. */
export type PausedSchedule = Awaited<ReturnType<ReturnType<typeof pausedLister>>>[number]
