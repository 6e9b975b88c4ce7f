import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'

/** How long (ms) a failure is remembered. */
const FAILURE_RETENTION = 30 * DAY
const PREFIX = 'schedule-failing:'

const failureSchema = z.object({
  /**
   * The job of the first failed run. It is in the key of the message to the creator, so that only
   * one is sent.
   */
  first: z.string(),
  lastJob: z.string(),
  id: z.string(),
  name: z.string(),
  skill: z.string(),
  error: z.string(),
  /** When the first run failed (Unix ms). */
  since: z.number(),
  /** Number of consecutive failed runs. */
  count: z.int(),
})

/** A schedule whose last run became a dead letter. */
export type ScheduleFailure = z.infer<typeof failureSchema>

type FailedRun = Pick<Schedule, 'id' | 'created' | 'name' | 'skill'> & { error: string }

/**
 * Remembers failing schedules. A schedule that keeps failing is reported once, until a run
 * succeeds.
 */
export function createScheduleFailures(kv: KeyValues, now: () => number) {
  return {
    /** Records a run that became a dead letter. Idempotent per job. */
    async failed({ id, created, name, skill, error }: FailedRun, job: string): Promise<ScheduleFailure> {
      const value = await updateKv(kv, keyOf({ id, created }), (current) => {
        const known = readFailure(current)
        if (known?.lastJob === job) return undefined
        // Version 0.1 stored only the id of the job.
        const first = known?.first ?? (typeof current === 'string' ? current : job)
        const count = (known?.count ?? 0) + 1
        const since = known?.since ?? now()
        const next: ScheduleFailure = { first, lastJob: job, id, name, skill, error, since, count }
        return { value: withUnknownFields(next, current, known), ttl: FAILURE_RETENTION }
      })
      return failureSchema.parse(value)
    },
    /** Called when a run has succeeded, or the schedule was deleted: it does not fail any more. */
    ended: (schedule: Pick<Schedule, 'id' | 'created'>) => kv.delete(keyOf(schedule)),
  }
}

/** The schedules whose last run failed. */
export async function failingSchedules(kv: KeyValues): Promise<ScheduleFailure[]> {
  const keys = await allKeys(kv, PREFIX)
  const found = await Promise.all(keys.map(async (key) => readFailure((await kv.get(key))?.value)))
  return found.filter((one) => one !== undefined)
}

function keyOf({ id, created }: Pick<Schedule, 'id' | 'created'>): string {
  return `${PREFIX}${id}:${created}`
}

function readFailure(value: unknown): ScheduleFailure | undefined {
  return failureSchema.safeParse(value).data
}
