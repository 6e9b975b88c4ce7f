import { hash } from 'node:crypto'
import { z } from 'zod'
import { requireRoom } from '../core/limits.ts'
import type { KeyValues } from '../core/store.ts'
import { updateKv } from '../core/update-kv.ts'
import type { Records } from './long-work-records.ts'

/** Jobs of one caller that may run at the same time, and that are kept, also after their end. */
const RUNNING = 20
const KEPT = 100
/** Ms after which a job that was announced and is not there was never begun: its daemon died between. */
const ANNOUNCED = 60_000
/** Ms. Longer than a job is kept after its end. */
const FORGOTTEN = 30 * 86_400_000

const placesSchema = z.array(z.object({ id: z.string(), at: z.number() })).catch([])

/** Bounds the long jobs of each caller: all daemons read all of them every few seconds. */
export function createRoom(kv: KeyValues, records: Pick<Records, 'peek' | 'drop'>, now: () => number) {
  return {
    /** Takes a place for a new job; the oldest that have ended go. Throws `limit_reached`. */
    async take(id: string, by: string): Promise<void> {
      let gone: string[] = []
      await updateKv(kv, `long-jobs-of/${hash('sha256', by)}`, async (value) => {
        const places = placesSchema.parse(value ?? [])
        const jobs = await Promise.all(
          places.map(async (place) => ({ ...place, job: await records.peek(place.id) })),
        )
        const known = jobs.filter(({ job, at }) => job !== undefined || now() - at < ANNOUNCED)
        const running = known.filter(({ job }) => (job?.state ?? 'running') === 'running')
        requireRoom({ most: RUNNING, what: `Long jobs of ${by} that run`, todo: TODO }, running.length)
        const ended = known.filter((each) => !running.includes(each))
        gone = ended.slice(0, Math.max(0, known.length + 1 - KEPT)).map((each) => each.id)
        const left = known.filter((each) => !gone.includes(each.id)).map(({ job: _, ...place }) => place)
        return { value: [...left, { id, at: now() }], ttl: FORGOTTEN }
      })
      for (const each of gone) await records.drop(each)
    },
  }
}

const TODO = 'Wait for one to end, or end one with `trivium job cancel ID`.'
