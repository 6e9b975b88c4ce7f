import { randomUUID } from 'node:crypto'
import { readableObject } from '../../config/readable-value.ts'
import type { ActivityEntry } from '../../core/activity.ts'
import { authorOf } from '../../core/author.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isViewer } from '../../core/identity.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { newPause, type PauseRecord, pauseChange } from '../../core/pause-record.ts'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { KeyValues } from '../../core/store.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { aboutSchedule, cursorKey } from './about.ts'
import { manualKey, type Occasion } from './firing.ts'
import type * as operations from './operations.ts'
import { pastRuns, type ScheduleRun, type SkillRuns, upcomingOf } from './past-runs.ts'
import { createPauseCosts } from './pause-cost.ts'
import { type createRunReports, MAX_RUNS, withoutResult } from './run-reports.ts'
import {
  type createSchedulePauses,
  type PausedSchedules,
  pauseOf,
  presentPauseOf,
} from './schedule-pauses.ts'

/**
 * `schedule-list`, `schedule-show`, `schedule-run`, `schedule-pause` and `schedule-resume`, for
 * schedules of routes.yaml and created ones.
 */
export function createScheduleControl(deps: {
  kv: KeyValues
  pauses: ReturnType<typeof createSchedulePauses>
  reports: Pick<ReturnType<typeof createRunReports>, 'readRuns'>
  runsOf: SkillRuns
  /** The schedules that the call may see. */
  visible(call: Call): Promise<readonly Schedule[]>
  /** The schedule. Throws `not_found` if there is none, or if the call may not see it. */
  require(id: string, call: Call): Promise<Schedule>
  permit(skill: string, call: Call): Promise<void>
  /** Runs the schedule. Resolves with false if this occasion has run before. */
  fire(occasion: Occasion): Promise<boolean>
  record(entry: ActivityEntry): Promise<void>
  /** Where a schedule of routes.yaml is configured. */
  placeOf(name: string): { file: string; line?: number } | undefined
  pauseOfSkill(skill: string): PauseRecord | undefined
  /** Redacts secrets in a text. */
  clean(text: string): string
  now: () => number
}) {
  const { pauses, require, record, now } = deps
  const costOf = createPauseCosts()
  const runsOf = async (schedule: Schedule) =>
    pastRuns(schedule, await deps.runsOf(schedule.skill), await deps.reports.readRuns(schedule))
  const shown = createShown({ ...deps, costOf })
  return {
    async list(_, call) {
      const paused = await pauses.read()
      const visible = await deps.visible(call)
      return Promise.all(
        visible.map(async (schedule) => shown(schedule, call, { paused, runs: await runsOf(schedule) })),
      )
    },
    async show({ id, run }, call) {
      const schedule = await require(id, call)
      const all = await runsOf(schedule)
      const runs = run === undefined ? all : [runWith(all, run, id)]
      const found = shown(schedule, call, { paused: await pauses.read(), runs: all })
      return { ...found, upcoming: upcomingOf(schedule, now()), runs }
    },
    async run({ id, key: runKey = randomUUID() }, call) {
      const schedule = await require(id, call)
      await deps.permit(schedule.skill, call)
      const key = manualKey(schedule, runKey)
      const planned = now()
      const isNew = await deps.fire({ key, schedule, planned, missed: 0, startedBy: authorOf(call.caller) })
      if (isNew) await record({ event: 'schedule_run', ...aboutSchedule(schedule), key: runKey })
      const skillPause = isNew ? deps.pauseOfSkill(schedule.skill) : undefined
      return { ok: true, id, key: runKey, repeated: !isNew, ...defined({ skillPause }) }
    },
    async pause({ id, ...fields }, call) {
      const schedule = await require(id, call)
      const { before, after } = await pauses.begin(id, newPause(call, fields, now()))
      await record({ event: 'schedule_paused', ...aboutSchedule(schedule) })
      return {
        ok: true,
        id,
        paused: true,
        pause: { kind: 'schedule', name: id, ...after, ...costOf(schedule, after, now()) },
        changes: pauseChange(before, after),
      }
    },
    async resume({ id }, call) {
      const schedule = await require(id, call)
      const pause = pauseOf(await pauses.read(), id)
      if (!pause) return { ok: true, id, paused: false }
      // The cursor moves first: even after a crash in between, no time during the pause is run.
      await deps.kv.set(cursorKey(schedule), now())
      await pauses.end(id)
      await record({ event: 'schedule_resumed', ...aboutSchedule(schedule) })
      return { ok: true, id, paused: false, changes: pauseChange(pause, undefined) }
    },
  } satisfies Pick<ServiceOf<typeof operations.schedules>, 'list' | 'show' | 'run' | 'pause' | 'resume'>
}

/** Makes the function that describes a schedule for a caller. */
function createShown(deps: {
  costOf: ReturnType<typeof createPauseCosts>
  placeOf(name: string): { file: string; line?: number } | undefined
  pauseOfSkill(skill: string): PauseRecord | undefined
  clean(text: string): string
  now(): number
}) {
  const { costOf, placeOf, now } = deps
  /** Viewers see the arguments without secrets. Variables of routes.yaml are replaced in them. */
  const argsFor = ({ caller }: Call, { args }: Schedule) =>
    isViewer(caller) ? readableObject(args, deps.clean) : args
  return (
    schedule: Schedule,
    call: Call,
    { paused, runs: [lastRun] }: { paused: PausedSchedules; runs: readonly ScheduleRun[] },
  ) => {
    const pause = presentPauseOf(paused, schedule.id, now())
    return {
      ...schedule,
      args: argsFor(call, schedule),
      ...defined({
        place: schedule.source && placeOf(schedule.name),
        next: plannedTimes(schedule).next(now()),
        skillPause: deps.pauseOfSkill(schedule.skill),
        paused: pause && { ...pause, ...costOf(schedule, pause, now()) },
        lastRun: lastRun && withoutResult(lastRun),
      }),
    }
  }
}

/** Throws `not_found`. */
function runWith(runs: readonly ScheduleRun[], id: string, schedule: string): ScheduleRun {
  const found = runs.find((one) => one.id === id)
  const hint = ` The newest ${MAX_RUNS} runs are kept: ${commandText('schedule show', schedule)} lists them.`
  if (!found) throw new TriviumError('not_found', { path: `run ${id} of schedule ${schedule}`, hint })
  return found
}
