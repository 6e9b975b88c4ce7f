import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const PAUSED = 'schedules-paused'

/** By id. `since`: Unix ms. */
const pausedSchema = z.record(z.string(), z.object({ since: z.number() })).catch({})
export type PausedSchedules = z.infer<typeof pausedSchema>

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
        const paused = pausedSchema.parse(current ?? {})
        const { [id]: _, ...others } = paused
        return Object.hasOwn(paused, id) ? { value: others } : undefined
      }),
  }
}

/** The pause of a schedule, whose id can be a name such as `constructor`. */
export function pauseOf(paused: PausedSchedules, id: string): PausedSchedules[string] | undefined {
  return Object.hasOwn(paused, id) ? paused[id] : undefined
}
