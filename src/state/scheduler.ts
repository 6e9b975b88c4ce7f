import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { KeyValues, Leases } from '../core/store.ts'
import { type AssistantState, nextId, type Schedule } from './assistant-state.ts'
import { LIMITS, requireLength, requireRoom } from './limits.ts'
import type { ActivityEntry } from './logs.ts'
import type { StateDocument } from './manager.ts'
import { plannedTimes } from './planned-times.ts'
import { updateWith } from './update-with.ts'

/** One firing. `key` is the same however often it is given, and other for every planned time. */
export type Occasion = { key: string; schedule: Schedule; planned: number; missed: number }

export type Scheduler = {
  /**
   * Stores a schedule, due from now on. Throws `usage` for an expression or time zone that cannot be read, and
   * `limit_reached`.
   */
  create(args: NewSchedule): Promise<Schedule>
  delete(id: string): Promise<boolean>
  /** With the next planned time of each (Unix ms). */
  list(): Promise<(Schedule & { next?: number })[]>
  /**
   * One round: fires what is due, where this process holds the lease. Returns when the next round makes sense
   * (Unix ms). `start` calls it; tests do with a clock of their own.
   */
  tick(): Promise<number>
  start(): void
  /** Resolves when nothing fires any more, and lets another process go on at once. */
  stop(): Promise<void>
}

export type NewSchedule = Pick<Schedule, 'name' | 'skill' | 'channel'> &
  Partial<Pick<Schedule, 'cron' | 'every' | 'timezone' | 'misfire' | 'by'>> & { args?: JsonObject }

export type SchedulerDeps = {
  store: { kv: KeyValues; leases: Leases }
  state: StateDocument<AssistantState>
  /**
   * Makes the occasion durable (a job with `key` as its id). May be called again with the same key after a crash; a
   * throw means that it will be.
   */
  fire(occasion: Occasion): Promise<void>
  /** Notes `schedule_fired`, `schedule_missed`, `schedule_created` and `schedule_deleted`. */
  record(entry: ActivityEntry): Promise<void>
  /** Names this process in the lease. */
  owner: string
  log: Log
  now?: () => number
}

/** How long a dead holder is waited for. A living one renews at each round. */
const LEASE = 8_000
/** Later than this a firing counts as missed, and the misfire policy decides. */
const LATE = 30_000
const LONGEST_SLEEP = 2_500

/**
 * Fires schedules, each once per planned time, by whichever process holds the lease. What was handled last is on the
 * store, and is moved after `fire`: a crash between the two repeats a key and nothing else.
 */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { store, state, record, log, owner } = deps
  const now = deps.now ?? Date.now
  let stopping: AbortController | undefined
  let loop = Promise.resolve()

  return {
    async create({ timezone = 'UTC', misfire = 'once', args = {}, ...rest }) {
      const created = new Date(now()).toISOString()
      plannedTimes({ ...rest, timezone, created })
      const text = JSON.stringify({ name: rest.name, args })
      requireLength(
        'The arguments of a schedule',
        text,
        LIMITS.scheduleArgs,
        'Keep what is large in a file, and name it.',
      )
      const schedule = await updateWith(state, (draft) => {
        requireRoom(
          'Schedules',
          draft.schedules.length,
          LIMITS.schedules,
          'Remove some with `schedule-delete`.',
        )
        const made: Schedule = { id: nextId(draft, 'schedule'), ...rest, timezone, misfire, args, created }
        draft.schedules.push(made)
        return made
      })
      await record({
        event: 'schedule_created',
        channel: schedule.channel,
        schedule: schedule.id,
        name: schedule.name,
      })
      return schedule
    },
    async delete(id) {
      const gone = await updateWith(state, (draft) => {
        const place = draft.schedules.findIndex((one) => one.id === id)
        return place < 0 ? undefined : draft.schedules.splice(place, 1)[0]
      })
      if (!gone) return false
      await store.kv.delete(cursorKey(gone))
      await record({ event: 'schedule_deleted', channel: gone.channel, schedule: id, name: gone.name })
      return true
    },
    async list() {
      const { document } = await state.load()
      return document.schedules.map((schedule) => {
        const next = plannedTimes(schedule).next(now())
        return next === undefined ? schedule : { ...schedule, next }
      })
    },
    tick,
    start() {
      if (stopping) return
      stopping = new AbortController()
      loop = run(stopping.signal)
    },
    async stop() {
      stopping?.abort()
      await loop
      stopping = undefined
      try {
        await store.leases.release('scheduler', owner)
      } catch (error) {
        log.warn(
          { error: reasonOf(error) },
          'the scheduler could not give its lease back; it runs out in seconds',
        )
      }
    },
  }

  async function run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let wake = now() + LONGEST_SLEEP
      try {
        wake = Math.min(wake, await tick())
      } catch (error) {
        log.warn({ error: reasonOf(error) }, 'the scheduler could not do a round; it tries again')
      }
      // Aborted by stop; then the loop ends.
      await delay(Math.max(20, wake - now()), undefined, { signal }).catch(() => undefined)
    }
  }

  async function tick(): Promise<number> {
    const later = now() + LONGEST_SLEEP
    if (!(await store.leases.acquire('scheduler', owner, LEASE))) return later
    const { document } = await state.load()
    let next = later
    for (const schedule of document.schedules) {
      try {
        await handle(schedule)
        next = Math.min(next, plannedTimes(schedule).next(now()) ?? later)
      } catch (error) {
        log.warn(
          { schedule: schedule.id, error: reasonOf(error) },
          'a schedule could not fire; it is tried again',
        )
      }
    }
    return next
  }

  async function handle(schedule: Schedule): Promise<void> {
    const cursor = await store.kv.get(cursorKey(schedule))
    const after = typeof cursor?.value === 'number' ? cursor.value : Date.parse(schedule.created)
    const due = plannedTimes(schedule).due(after, now())
    if (!due) return
    const lateness = now() - due.newest
    const fires = lateness <= graceOf(schedule)
    const missed = fires ? due.count - 1 : due.count
    const about = { channel: schedule.channel, schedule: schedule.id, name: schedule.name }
    if (fires) {
      const key = `${schedule.id}:${schedule.created}:${due.newest}`
      await deps.fire({ key, schedule, planned: due.newest, missed })
    }
    const moved = await store.kv.set(cursorKey(schedule), due.newest, { ifVersion: cursor?.version ?? 0 })
    // Another holder of the lease was here meanwhile: it fired the same key, and it notes it.
    if (moved === undefined) return
    const planned = new Date(due.newest).toISOString()
    if (missed > 0) await record({ event: 'schedule_missed', ...about, count: missed, until: planned })
    if (fires) await record({ event: 'schedule_fired', ...about, planned, late: lateness })
  }
}

/** How late the newest due time may be and still fire. */
function graceOf({ misfire }: Schedule): number {
  if (misfire === 'skip') return LATE
  return misfire === 'once' ? Number.POSITIVE_INFINITY : Math.max(LATE, misfire.within)
}

function cursorKey(schedule: Schedule): string {
  return `schedule-cursor:${schedule.id}:${schedule.created}`
}

/** Reads `skip`, `once` or `within: 5m` as people write it; `parse` turns a duration into ms. */
export function parseMisfire(
  text: string,
  parse: (duration: string) => number | undefined,
): Schedule['misfire'] {
  if (text === 'skip' || text === 'once') return text
  const within = /^within\s*:?\s*(\S+)$/.exec(text)?.[1]
  const ms = within === undefined ? undefined : parse(within)
  if (ms !== undefined) return { within: ms }
  throw new TriviumError('usage', {
    details: `The misfire policy is skip, once or within: 5m, not "${text}".`,
  })
}
