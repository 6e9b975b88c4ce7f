import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredRecord } from '../../core/stored-entries.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'

const PAUSED = 'schedules-paused'

/** `since`: Unix ms. `by` is absent in pauses of older versions. */
const pauseSchema = z.object({
  since: z.number(),
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
})

/** The pauses, by the id of the schedule. */
export type PausedSchedules = Readonly<Record<string, z.infer<typeof pauseSchema>>>

const readPaused = (value: Json | undefined) => readStoredRecord(pauseSchema, value)

/** The paused schedules, in the store: for all daemons and all kinds of schedules. */
export function createSchedulePauses(kv: KeyValues, now: () => number) {
  return {
    read: async (): Promise<PausedSchedules> => readPaused((await kv.get(PAUSED))?.value).entries,
    /** An existing pause keeps its start and author; it gets the reason, if one is given. */
    add: (id: string, by: string, reason?: string) =>
      updateKv(kv, PAUSED, (current) => {
        const { entries, write } = readPaused(current)
        const known = pauseOf(entries, id)
        if (known && reason === undefined) return undefined
        const pause = { ...(known ?? { since: now(), by }), ...defined({ reason }) }
        return { value: write({ ...entries, [id]: pause }) }
      }),
    end: (id: string) =>
      updateKv(kv, PAUSED, (current) => {
        const { entries, write } = readPaused(current)
        const { [id]: paused, ...others } = entries
        return paused && { value: write(others) }
      }),
  }
}

/** The pause of a schedule. Safe for an id such as `constructor`. */
export function pauseOf(paused: PausedSchedules, id: string): PausedSchedules[string] | undefined {
  return Object.hasOwn(paused, id) ? paused[id] : undefined
}
