import { z } from 'zod'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

const PAUSED = 'schedules-paused'

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
