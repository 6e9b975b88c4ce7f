import type { ActivityEntry } from '../../core/activity.ts'
import {
  type AskedBy,
  channelOf,
  askedBy as createdBy,
  type Schedule,
} from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Limit, requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { Services } from '../../core/services.ts'
import type { KeyValues, Leases } from '../../core/store.ts'
import { parseDuration } from '../../core/units.ts'
import { viewerOf } from '../../core/viewer.ts'
import { defined } from '../../lib/defined.ts'
import { nextId } from '../../lib/next-id.ts'
import { plannedTimes } from './planned-times.ts'

/** One firing. `key` is the same however often it is given, and other for every planned time. */
export type Occasion = { key: string; schedule: Schedule; planned: number; missed: number }

/** What is kept of schedules, and the number that the next one gets. */
type Kept = { schedules: Schedule[]; next_ids: Record<string, number> }

/** The document that holds them, with whatever else is in it. */
export type ScheduleState = {
  load(): Promise<{ document: Kept }>
  update<T>(mutate: (draft: Kept) => T): Promise<{ made: T }>
}

/** The document is written whole. Lengths are in characters. */
const LIMITS = {
  /** Of one person. */
  ownSchedules: { most: 100, what: 'Your schedules', todo: 'Cancel some of them.' },
  schedules: { most: 1_000, what: 'Schedules', todo: 'Remove some with `schedule-delete`.' },
  scheduleArgs: { most: 20_000, what: 'The arguments of a schedule' },
} satisfies Record<string, Limit>

/** How long a dead holder is waited for. A living one renews at each round. */
const LEASE = 8_000
/** Later than this a firing counts as missed, and the misfire policy decides. */
const LATE = 30_000
/** A handled time that is further ahead of the clock (ms) is from a clock that was set back since; the cursor goes back with it. */
const AHEAD = 10_000
const LONGEST_SLEEP = 2_500
const SHORTEST_SLEEP = 20
/** How long a schedule is there after its last time. */
const KEPT_WHEN_OVER = 3_600_000

/**
 * Fires schedules, each once per planned time, by whichever process holds the lease. What was handled last is on the
 * store, and is moved after `fire`: a crash between the two repeats a key and nothing else.
 */
export function createSchedules(deps: {
  store: { kv: KeyValues; leases: Leases }
  state: ScheduleState
  /** Makes the occasion durable. May be called again with the same key after a crash; a throw means that it will be. */
  fire(occasion: Occasion): Promise<void>
  /** Notes `schedule_fired`, `schedule_missed`, `schedule_created` and `schedule_deleted`. */
  record(entry: ActivityEntry): Promise<void>
  /** Throws `skill_not_found`, and `forbidden` where the call may not have it invoked. */
  permit(skill: string, call: Call): Promise<void>
  /** Names this process in the lease. */
  owner: string
  log: Log
  now: () => number
}) {
  const { store, state, record, log, owner, now } = deps
  const isSeen = (call: Call) => {
    const { sees } = viewerOf(call, 'person')
    return ({ by, channel }: Schedule) => sees(by?.id ?? channel)
  }

  const service = {
    /** `askedBy`: who gets what the skill returns; the same of the same message again, as in a repeated attempt, is the one that is there. */
    async create({ name, misfire, timezone = 'UTC', args, ...rest }, call, askedBy?: AskedBy) {
      await deps.permit(rest.skill, call)
      const schedule = {
        ...rest,
        ...defined({ by: makerOf(call), askedBy, onFailure: askedBy ? undefined : createdBy(call) }),
        name: name ?? rest.skill,
        misfire: misfireOf(misfire),
        timezone,
        args,
        channel: channelOf(call),
        created: new Date(now()).toISOString(),
      }
      if (next(schedule, now()) === undefined && !askedBy) {
        throw new TriviumError('usage', { details: `The schedule "${rest.cron}" (${timezone}) never comes.` })
      }
      requireRoom(LIMITS.scheduleArgs, JSON.stringify({ name: schedule.name, args }))
      const { made } = await state.update((draft): { one: Schedule; isNew: boolean } => {
        const isSame = (one: Schedule) =>
          one.askedBy?.id === askedBy?.id && one.skill === schedule.skill && one.name === schedule.name
        const standing = askedBy && draft.schedules.find(isSame)
        if (standing) return { one: standing, isNew: false }
        requireRoom(LIMITS.schedules, draft.schedules.length)
        const own = ({ by }: Schedule) => by !== undefined && by.id === schedule.by?.id
        requireRoom(LIMITS.ownSchedules, draft.schedules.filter(own).length)
        const one = { id: nextId(draft, 'schedule'), ...schedule }
        draft.schedules.push(one)
        return { one, isNew: true }
      })
      if (made.isNew) await record({ event: 'schedule_created', ...about(made.one) })
      return made.one
    },
    async list(_, call) {
      const { document } = await state.load()
      const seen = document.schedules.filter(isSeen(call))
      return seen.map((schedule) => ({ ...schedule, ...defined({ next: next(schedule, now()) }) }))
    },
    async delete({ id }, call) {
      const { made: gone } = await state.update((draft) => {
        const found = draft.schedules.filter(isSeen(call)).find((one) => one.id === id)
        draft.schedules = draft.schedules.filter((one) => one !== found)
        return found
      })
      if (gone) {
        await store.kv.delete(cursorKey(gone))
        await record({ event: 'schedule_deleted', ...about(gone) })
      }
      return { ok: true, existed: gone !== undefined }
    },
  } satisfies Services['schedules']

  return {
    ...service,
    next,
    /** One round: fires what is due, where this process holds the lease. Returns in how many ms the next makes sense. */
    tick,
    /** Lets another process go on at once. */
    async release() {
      await store.leases.release('scheduler', owner).catch((err) => {
        log.warn({ err }, 'the scheduler could not give its lease back; it runs out in seconds')
      })
    },
  }

  async function tick(): Promise<number> {
    if (!(await store.leases.acquire('scheduler', owner, LEASE))) return LONGEST_SLEEP
    const { document } = await state.load()
    let soonest = now() + LONGEST_SLEEP
    const over: Schedule[] = []
    for (const schedule of document.schedules) {
      try {
        await handle(schedule)
        const after = next(schedule, now())
        soonest = Math.min(soonest, after ?? soonest)
        if (after === undefined) over.push(schedule)
      } catch (err) {
        log.warn({ schedule: schedule.id, err }, 'a schedule could not fire; it is tried again')
      }
    }
    await forget(over)
    return Math.max(SHORTEST_SLEEP, soonest - now())
  }

  /** What never comes again goes, once its last run had its attempts. */
  async function forget(over: readonly Schedule[]): Promise<void> {
    const ended = over.filter((schedule) => lastTimeOf(schedule) < now() - KEPT_WHEN_OVER)
    if (ended.length === 0) return
    await state.update((draft) => {
      draft.schedules = draft.schedules.filter(({ id }) => !ended.some((one) => one.id === id))
    })
    await Promise.all(ended.map((one) => store.kv.delete(cursorKey(one))))
  }

  async function handle(schedule: Schedule): Promise<void> {
    const cursor = await store.kv.get(cursorKey(schedule))
    const handled = typeof cursor?.value === 'number' ? cursor.value : Date.parse(schedule.created)
    if (handled > now() + AHEAD) {
      await store.kv.set(cursorKey(schedule), now(), { ifVersion: cursor?.version ?? 0 })
      return
    }
    const due = plannedTimes(schedule).due(handled, now())
    if (!due) return
    const lateness = now() - due.newest
    const fires = lateness <= graceOf(schedule)
    const missed = fires ? due.count - 1 : due.count
    if (fires) {
      const key = `${schedule.id}:${schedule.created}:${due.newest}`
      await deps.fire({ key, schedule, planned: due.newest, missed })
    }
    const moved = await store.kv.set(cursorKey(schedule), due.newest, { ifVersion: cursor?.version ?? 0 })
    // Another holder of the lease was here meanwhile: it fired the same key, and it notes it.
    if (moved === undefined) return
    const planned = new Date(due.newest).toISOString()
    if (missed > 0)
      await record({ event: 'schedule_missed', ...about(schedule), count: missed, until: planned })
    if (fires) await record({ event: 'schedule_fired', ...about(schedule), planned, late: lateness })
  }
}

/** The first planned time (Unix ms) after `time`; undefined: never again. */
function next(times: Parameters<typeof plannedTimes>[0], time: number): number | undefined {
  return plannedTimes(times).next(time)
}

/** How late the newest due time may be and still fire. */
function graceOf({ misfire }: Schedule): number {
  if (misfire === 'skip') return LATE
  return misfire === 'once' ? Number.POSITIVE_INFINITY : Math.max(LATE, misfire.within)
}

function cursorKey(schedule: Schedule): string {
  return `schedule-cursor:${schedule.id}:${schedule.created}`
}

function lastTimeOf(schedule: Schedule): number {
  return plannedTimes(schedule).due(Date.parse(schedule.created), Number.MAX_SAFE_INTEGER)?.newest ?? 0
}

function about({ channel, id, name }: Schedule) {
  return { channel, schedule: id, name }
}

/** Reads `skip`, `once` or `within: 5m` as people write it. */
function misfireOf(text: string): Schedule['misfire'] {
  if (text === 'skip' || text === 'once') return text
  const within = parseDuration(/^within\s*:?\s*(\S+)$/.exec(text)?.[1] ?? '')
  if (within !== undefined) return { within }
  throw new TriviumError('usage', {
    details: `The misfire policy is skip, once or within: 5m, not "${text}".`,
  })
}

/** For whom a schedule runs its skill. Undefined: who holds the control token, the command line, code of the daemon. */
function makerOf({ caller }: Call): Schedule['by'] {
  const { id, roles = [] } = caller
  if (caller.kind !== 'route') return undefined
  if (id !== undefined) return { id, roles: [...roles] }
  throw new TriviumError('forbidden', {
    what: 'A schedule',
    reason: 'it runs with the rights of who made it, and there is no proof who sent this message',
  })
}
