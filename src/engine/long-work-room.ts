import { hash } from 'node:crypto'
import { z } from 'zod'
import { requireRoom } from '../core/limits.ts'
import type { KeyValues } from '../core/store.ts'
import { readStoredList } from '../core/stored-entries.ts'
import { updateKv } from '../core/update-kv.ts'
import type { Records } from './long-work-records.ts'

/** Maximum number of a caller's jobs that run at the same time. */
const MAX_RUNNING = 20
/** Maximum number of a caller's jobs that are kept, including ended ones. */
const MAX_STORED = 100
/** Ms after which a place without a job is free again: its daemon died before it added the job. */
const PLACE_PATIENCE = 60_000
/** How long (ms) the list of a caller is kept; longer than a job is kept after its end. */
const LIST_RETENTION = 30 * 86_400_000

const placeSchema = z.object({ id: z.string(), at: z.number() })

/** Limits the long jobs of each caller, because every daemon reads all jobs every few seconds. */
export function createRoom(kv: KeyValues, records: Pick<Records, 'peek' | 'drop'>, now: () => number) {
  return {
    /**
     * Takes a place for a new job, and removes the oldest ended jobs if needed. Throws
     * `limit_reached`.
     */
    async take(id: string, by: string): Promise<void> {
      let gone: string[] = []
      await updateKv(kv, `long-jobs-of/${hash('sha256', by)}`, async (value) => {
        const { entries: places, write } = readStoredList(placeSchema, value)
        const jobs = await Promise.all(
          places.map(async (place) => ({ ...place, job: await records.peek(place.id) })),
        )
        const known = jobs.filter(({ job, at }) => job !== undefined || now() - at < PLACE_PATIENCE)
        const running = known.filter(({ job }) => (job?.state ?? 'running') === 'running')
        requireRoom({ most: MAX_RUNNING, what: `Running jobs of ${by}`, todo: TODO }, running.length)
        const ended = known.filter((each) => !running.includes(each))
        gone = ended.slice(0, Math.max(0, known.length + 1 - MAX_STORED)).map((each) => each.id)
        const left = known.filter((each) => !gone.includes(each.id)).map(({ job: _, ...place }) => place)
        return { value: write([...left, { id, at: now() }]), ttl: LIST_RETENTION }
      })
      for (const each of gone) await records.drop(each)
    },
  }
}

const TODO = 'Wait for one to end, or cancel one with `trivium job cancel ID`.'
