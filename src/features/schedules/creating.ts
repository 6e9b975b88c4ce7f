import type { ActivityEntry } from '../../core/activity.ts'
import { type AskedBy, askedBy as requesterOf } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import { channelOf } from '../../core/call.ts'
import { requireOwnFormat } from '../../core/cron-format.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Limit, requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import { parseDuration } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { nextId } from '../../lib/next-id.ts'
import { aboutSchedule, type ScheduleState } from './about.ts'
import type * as operations from './operations.ts'

/**
 * Limits of schedules, because each change writes the whole document. Lengths are in characters.
 */
const LIMITS = {
  /** Per person. */
  ownSchedules: { most: 100, what: 'Your schedules', todo: 'Cancel some of them.' },
  schedules: { most: 1_000, what: 'Schedules', todo: 'Remove some with `schedule-delete`.' },
  scheduleArgs: { most: 20_000, what: 'The arguments of a schedule' },
} satisfies Record<string, Limit>

type CreateArgs = Parameters<ServiceOf<typeof operations.schedules>['create']>[0]

/** Creates schedules for `schedule-create` and for schedules in words. */
export function createScheduleCreation(deps: {
  state: ScheduleState
  /** Throws `skill_not_found`, `forbidden` if the call may not run it, and `skill_args_invalid`. */
  permit(skill: string, call: Call, args: unknown): Promise<void>
  record(entry: ActivityEntry): Promise<void>
  now: () => number
}) {
  const { state, now } = deps

  /**
   * Creates a schedule. The retry of a message gets the schedule of its first attempt. `askedBy`:
   * recipient of the results. `askedAt` (Unix ms): planned times before it do not count.
   */
  return async (
    { name, misfire, timezone = 'UTC', args, at, ...rest }: CreateArgs,
    call: Call,
    askedBy?: AskedBy,
    askedAt = now(),
  ): Promise<Schedule> => {
    await deps.permit(rest.skill, call, args)
    if ([at, rest.cron, rest.every].filter((when) => when !== undefined).length !== 1)
      throw new TriviumError('usage', {
        details: 'A schedule takes exactly one of `cron`, `every` and `at`.',
      })
    const settings = {
      ...rest,
      ...defined({ cron: at ?? rest.cron }),
      ...defined({ by: creatorOf(call), askedBy, onFailure: askedBy ? undefined : requesterOf(call) }),
      name: name ?? rest.skill,
      misfire: misfireOf(misfire),
      timezone,
      args,
      channel: channelOf(call),
      created: new Date(askedAt).toISOString(),
    }
    if (rest.cron !== undefined) requireOwnFormat(rest.cron)
    if (at !== undefined && !SINGLE_TIME.test(at))
      throw new TriviumError('usage', { details: `\`at\` is a time such as 2026-12-24T18:00, not "${at}".` })
    if (plannedTimes(settings).next(now()) === undefined && !askedBy) {
      const why = at === undefined ? 'never comes' : 'has passed'
      throw new TriviumError('usage', { details: `The schedule "${settings.cron}" (${timezone}) ${why}.` })
    }
    requireRoom(LIMITS.scheduleArgs, JSON.stringify({ name: settings.name, args }))
    const { made: result } = await state.update((draft): { schedule: Schedule; isNew: boolean } => {
      const isSame = (one: Schedule) =>
        one.askedBy?.id === askedBy?.id && one.skill === settings.skill && one.name === settings.name
      const existing = askedBy && draft.schedules.find(isSame)
      if (existing) return { schedule: existing, isNew: false }
      requireRoom(LIMITS.schedules, draft.schedules.length)
      const isOwn = ({ by }: Schedule) => by !== undefined && by.id === settings.by?.id
      requireRoom(LIMITS.ownSchedules, draft.schedules.filter(isOwn).length)
      const schedule = { id: nextId(draft, 'schedule'), ...settings }
      draft.schedules.push(schedule)
      return { schedule, isNew: true }
    })
    const { schedule, isNew } = result
    if (isNew) await deps.record({ event: 'schedule_created', ...aboutSchedule(schedule) })
    return schedule
  }
}

/** The form of `at`. A cron expression is refused: it would run again and again. */
const SINGLE_TIME = /^\d{4}-\d\d-\d\d[T ][\d:.]+(Z|[+-][\d:]+)?$/

/** Parses `skip`, `once` or `within: 5m`. */
function misfireOf(text: string): Schedule['misfire'] {
  if (text === 'skip' || text === 'once') return text
  const within = parseDuration(/^within\s*:?\s*(\S+)$/.exec(text)?.[1] ?? '')
  if (within !== undefined) return { within }
  throw new TriviumError('usage', {
    details: `The misfire policy is skip, once or within: 5m, not "${text}".`,
  })
}

/**
 * On whose behalf the schedule runs. Undefined for operators: the control token, the command line,
 * code of the daemon.
 */
function creatorOf({ caller }: Call): Schedule['by'] {
  const { id, roles = [] } = caller
  if (caller.kind !== 'route') return undefined
  if (id !== undefined) return { id, roles: [...roles] }
  throw new TriviumError('forbidden', {
    what: 'A schedule',
    reason: 'it runs with the rights of its creator, and the sender of this message is not verified',
  })
}
