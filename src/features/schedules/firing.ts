import type { ActivityEntry } from '../../core/activity.ts'
import type { Log } from '../../core/log.ts'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues, Leases } from '../../core/store.ts'
import { HOUR } from '../../core/units.ts'
import { aboutSchedule, cursorKey, type ScheduleKey } from './about.ts'
import type { createLastRuns } from './last-runs.ts'

/** One firing of a schedule. */
export type Occasion = {
  /** The same when the firing is repeated, and different for each planned time. */
  key: string
  schedule: Schedule
  /** The planned time (Unix ms). */
  planned: number
  /** Number of earlier planned times that did not fire. */
  missed: number
  /** Who started the run, if somebody did. */
  startedBy?: string
}

/** The key of a run that somebody started. */
export function manualKey({ id, created }: ScheduleKey, key: string): string {
  return `${id}:${created}:run:${key}`
}

/** The key that somebody started a run with; undefined for other runs. Its `id` is that of the job. */
export function keyOfManual({ id }: { id: string }): string | undefined {
  return MANUAL.exec(id)?.[1]
}

const MANUAL = /Z:run:(.*)$/s

/** The key of the run at a planned time (Unix ms). */
export function plannedKey({ id, created }: ScheduleKey, planned: number): string {
  return `${id}:${created}:${planned}`
}

/** Lease (ms) of the process that fires. It renews the lease in each `tick`. */
const LEASE = 8_000
/**
 * A planned time that is handled later than this (ms) is missed, and the misfire policy applies.
 */
const LATE_AFTER = 30_000
/**
 * If the cursor is further in the future than this (ms), the clock was set back. Then the cursor is
 * set back too.
 */
const CLOCK_TOLERANCE = 10_000
/** Longest pause (ms) between two ticks. */
const LONGEST_SLEEP = 2_500
/** Shortest pause (ms) between two ticks. */
const SHORTEST_SLEEP = 20
/** How long (ms) a created schedule is kept after its last planned time. */
const FINISHED_RETENTION = HOUR

/**
 * Fires schedules, once per planned time, in the process that holds the lease. The cursor moves
 * after `fire`: a crash in between only repeats the same key.
 */
export function createFiring(deps: {
  store: { kv: KeyValues; leases: Leases }
  /** All schedules, and the ids of paused ones. */
  load(): Promise<{ schedules: readonly Schedule[]; paused: object }>
  runs: Pick<ReturnType<typeof createLastRuns>, 'isBusy' | 'begin'>
  /** Makes the occasion durable. May be repeated with the same key, after an error or a crash. */
  fire(occasion: Occasion): Promise<unknown>
  record(entry: ActivityEntry): Promise<void>
  /** Removes schedules that have no more planned times. */
  remove(finished: readonly ScheduleKey[]): Promise<unknown>
  /** The name of this process, for the lease. */
  owner: string
  log: Log
  now: () => number
}) {
  const { store, runs, record, log, owner, now } = deps

  return {
    /**
     * If this process holds the lease, fires what is due. Resolves with the pause (ms) after it.
     */
    tick,
    /** Releases the lease, so that another process can continue immediately. */
    async release() {
      await store.leases.release('scheduler', owner).catch((err) => {
        log.warn({ err }, 'the scheduler could not release its lease; it expires in seconds')
      })
    },
  }

  async function tick(): Promise<number> {
    if (!(await store.leases.acquire('scheduler', owner, LEASE))) return LONGEST_SLEEP
    let next = now() + LONGEST_SLEEP
    const finished: Schedule[] = []
    const { schedules, paused } = await deps.load()
    for (const schedule of schedules) {
      try {
        if (!Object.hasOwn(paused, schedule.id)) await handle(schedule)
        const after = plannedTimes(schedule).next(now())
        next = Math.min(next, after ?? next)
        if (after === undefined && isRemovable(schedule, now())) finished.push(schedule)
      } catch (err) {
        log.warn({ schedule: schedule.id, err }, 'a schedule could not fire; it will be retried')
      }
    }
    if (finished.length > 0) await deps.remove(finished)
    return Math.max(SHORTEST_SLEEP, next - now())
  }

  /** Fires the newest due time of a schedule unless it is too late, and moves the cursor to it. */
  async function handle(schedule: Schedule): Promise<void> {
    const cursor = await store.kv.get(cursorKey(schedule))
    const handled = typeof cursor?.value === 'number' ? cursor.value : Date.parse(schedule.created)
    if (handled > now() + CLOCK_TOLERANCE) {
      await store.kv.set(cursorKey(schedule), now(), { ifVersion: cursor?.version ?? 0 })
      return
    }
    const due = plannedTimes(schedule).due(handled, now())
    if (!due) return
    const lateness = now() - due.newest
    const isInTime = lateness <= graceOf(schedule)
    const missed = isInTime ? due.count - 1 : due.count
    const key = plannedKey(schedule, due.newest)
    const isSkipped = isInTime && schedule.overlap === 'skip' && (await runs.isBusy(schedule, key))
    const fires = isInTime && !isSkipped
    if (fires) {
      await deps.fire({ key, schedule, planned: due.newest, missed })
      if (schedule.overlap === 'skip') await runs.begin(schedule, key)
    }
    const moved = await store.kv.set(cursorKey(schedule), due.newest, { ifVersion: cursor?.version ?? 0 })
    // Another process held the lease meanwhile: it fired the same key, and stores the time itself.
    if (moved === undefined) return
    const planned = new Date(due.newest).toISOString()
    if (missed > 0)
      await record({ event: 'schedule_missed', ...aboutSchedule(schedule), count: missed, until: planned })
    if (isSkipped) await record({ event: 'schedule_skipped', ...aboutSchedule(schedule), planned })
    if (fires) await record({ event: 'schedule_fired', ...aboutSchedule(schedule), planned, late: lateness })
  }
}

/** How late (ms) a planned time may still fire. */
function graceOf({ misfire }: Schedule): number {
  if (misfire === 'skip') return LATE_AFTER
  return misfire === 'once' ? Number.POSITIVE_INFINITY : Math.max(LATE_AFTER, misfire.within)
}

/** Whether a finished schedule can be removed: its last run has probably had all its attempts. */
function isRemovable(schedule: Schedule, now: number): boolean {
  const last = plannedTimes(schedule).last(now) ?? 0
  return !schedule.source && last < now - FINISHED_RETENTION
}
