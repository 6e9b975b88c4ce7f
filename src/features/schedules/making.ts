import type { ActivityEntry } from '../../core/activity.ts'
import { type AskedBy, askedBy as createdBy } from '../../core/asked-by.ts'
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

/** Limited because the document is written as a whole. Lengths are in characters. */
const LIMITS = {
  /** Per person. */
  ownSchedules: { most: 100, what: 'Your schedules', todo: 'Cancel some of them.' },
  schedules: { most: 1_000, what: 'Schedules', todo: 'Remove some with `schedule-delete`.' },
  scheduleArgs: { most: 20_000, what: 'The arguments of a schedule' },
} satisfies Record<string, Limit>

type Asked = Parameters<ServiceOf<typeof operations.schedules>['create']>[0]

/** Creates schedules for `schedule-create` and for schedules in words. */
export function createScheduleMaking(deps: {
  state: ScheduleState
  /** Throws `skill_not_found`, `forbidden` if the call may not run it, and `skill_args_invalid`. */
  permit(skill: string, call: Call, args: unknown): Promise<void>
  record(entry: ActivityEntry): Promise<void>
  now: () => number
}) {
  const { state, now } = deps

  /**
   * `askedBy`: recipient of the results. The same schedule of the same message, as in a retry,
   * returns the existing one.
   */
  return async (
    { name, misfire, timezone = 'UTC', args, at, ...rest }: Asked,
    call: Call,
    askedBy?: AskedBy,
  ): Promise<Schedule> => {
    await deps.permit(rest.skill, call, args)
    if ([at, rest.cron, rest.every].filter((when) => when !== undefined).length !== 1)
      throw new TriviumError('usage', {
        details: 'A schedule takes exactly one of `cron`, `every` and `at`.',
      })
    const schedule = {
      ...rest,
      ...defined({ cron: at ?? rest.cron }),
      ...defined({ by: makerOf(call), askedBy, onFailure: askedBy ? undefined : createdBy(call) }),
      name: name ?? rest.skill,
      misfire: misfireOf(misfire),
      timezone,
      args,
      channel: channelOf(call),
      created: new Date(now()).toISOString(),
    }
    if (rest.cron !== undefined) requireOwnFormat(rest.cron)
    if (plannedTimes(schedule).next(now()) === undefined && !askedBy) {
      const how = at === undefined ? 'never comes' : 'has passed'
      throw new TriviumError('usage', { details: `The schedule "${schedule.cron}" (${timezone}) ${how}.` })
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
    if (made.isNew) await deps.record({ event: 'schedule_created', ...aboutSchedule(made.one) })
    return made.one
  }
}

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
function makerOf({ caller }: Call): Schedule['by'] {
  const { id, roles = [] } = caller
  if (caller.kind !== 'route') return undefined
  if (id !== undefined) return { id, roles: [...roles] }
  throw new TriviumError('forbidden', {
    what: 'A schedule',
    reason: 'it runs with the rights of its creator, and the sender of this message is not verified',
  })
}
