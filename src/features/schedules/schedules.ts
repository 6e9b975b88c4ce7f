import type { ActivityEntry } from '../../core/activity.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { PauseRecord } from '../../core/pause-record.ts'
import { plannedTimes } from '../../core/planned-times.ts'
import type { Schedule } from '../../core/schedule.ts'
import type { Jobs, KeyValues, Leases } from '../../core/store.ts'
import { viewerOf } from '../../core/viewer.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type { ScheduleKey, ScheduleState } from './about.ts'
import { createScheduleControl } from './control.ts'
import { createScheduleCreation } from './creating.ts'
import { createScheduleDeletion } from './deleting.ts'
import { createFileSchedules, type FileSchedule } from './file-schedules.ts'
import { createFiring, type Occasion } from './firing.ts'
import { createLastRuns } from './last-runs.ts'
import type * as operations from './operations.ts'
import type { SkillRuns } from './past-runs.ts'
import { createPauseEnds } from './pause-ends.ts'
import { createRunReports } from './run-reports.ts'
import { createScheduleData } from './schedule-data.ts'
import { createSchedulePauses, pausedLister } from './schedule-pauses.ts'

/** The queue of schedule runs. Its dead letters are listed with all others. */
export const SCHEDULES_QUEUE = 'schedules'

type ScheduleDeps = {
  store: { kv: KeyValues; leases: Leases; jobs: Pick<Jobs, 'end'> }
  state: ScheduleState
  /** The schedules of routes.yaml. */
  ofFile(): readonly FileSchedule[]
  /** Where a schedule of routes.yaml is configured. */
  placeOf(name: string): { file: string; line?: number } | undefined
  /** Makes the occasion durable; returns whether it is new. May be repeated with the same key. */
  fire(occasion: Occasion): Promise<boolean>
  runsOf: SkillRuns
  /** Records events such as `schedule_fired`, `schedule_missed` and `schedule_created`. */
  record(entry: ActivityEntry): Promise<void>
  /** Throws `skill_not_found`, `forbidden` if the call may not run it, and `skill_args_invalid`. */
  permit(skill: string, call: Call, args?: unknown): Promise<void>
  /** The pause of a skill: runs of its schedules wait for the end. */
  pauseOfSkill(skill: string): PauseRecord | undefined
  /** Redacts secrets in a text. */
  clean(text: string): string
  /** The name of this process, for the lease. */
  owner: string
  log: Log
  now: () => number
}

/** Schedules of people, operators and routes.yaml: their operations, and the firing. */
export function createSchedules(deps: ScheduleDeps) {
  const { store, state, record, now } = deps
  const pauses = createSchedulePauses(store.kv)
  const runs = createLastRuns(store, SCHEDULES_QUEUE, now)
  const reports = createRunReports(store.kv, now)
  const data = createScheduleData({ kv: store.kv, runs, reports, pauses, now })
  const file = createFileSchedules({ kv: store.kv, ofFile: deps.ofFile, ended: data.forget, now })
  const all = async () => [...(await state.load()).document.schedules, ...(await file.list())]
  const visible = async (call: Call) => (await all()).filter(isVisible(call))
  const require = async (id: string, call: Call) => {
    const known = await visible(call)
    return known.find((one) => one.id === id) ?? throwNotFound(id, known)
  }

  const presentPauses = createPauseEnds({ kv: store.kv, pauses, record, now })
  const firing = createFiring({
    ...deps,
    runs,
    async load() {
      const { document } = await state.load()
      const schedules = [...document.schedules, ...(await file.startAndList())]
      return { schedules, paused: await presentPauses(schedules) }
    },
    async remove(finished) {
      await Promise.all(finished.map(data.markOver))
      await state.update((draft) => {
        draft.schedules = draft.schedules.filter(({ id }) => !finished.some((one) => one.id === id))
      })
      await Promise.all(finished.map(data.forgetOver))
    },
  })

  const service = {
    create: createScheduleCreation(deps),
    ...createScheduleControl({ ...deps, kv: store.kv, pauses, reports, visible, require }),
    delete: createScheduleDeletion({
      state,
      file,
      isVisible,
      require,
      record,
      forget: (gone) => data.forget(gone, true),
    }),
  } satisfies ServiceOf<typeof operations.schedules>

  return {
    ...service,
    next: (rule: Parameters<typeof plannedTimes>[0], time: number) => plannedTimes(rule).next(time),
    paused: pausedLister(pauses, all, now),
    tick: firing.tick,
    release: firing.release,
    /** Whether a fired run may still start: its schedule was not deleted. */
    async exists({ id, created }: ScheduleKey): Promise<boolean> {
      if (file.has(id)) return true
      const { schedules } = (await state.load()).document
      if (schedules.some((one) => one.id === id && one.created === created)) return true
      return data.isOver({ id, created })
    },
    /** Called before a run ends without another attempt. */
    ended: runs.end,
  }
}

function throwNotFound(id: string, known: readonly Schedule[]): never {
  const hint = didYouMean(
    id,
    known.map((one) => one.id),
  )
  throw new TriviumError('not_found', { path: `schedule ${id}`, hint })
}

function isVisible(call: Call): (schedule: Schedule) => boolean {
  const { sees } = viewerOf(call, 'person')
  return ({ by, channel }) => sees(by?.id ?? channel)
}
