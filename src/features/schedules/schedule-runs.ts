import { z } from 'zod'
import type { Activity } from '../../core/activity.ts'
import type { AskedBy } from '../../core/asked-by.ts'
import type { Caller, InvokeOptions } from '../../core/call.ts'
import { type Json, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { scheduleSchema } from '../../core/schedule.ts'
import { textOf } from '../../core/skill.ts'
import type { ClaimedJob, Store } from '../../core/store.ts'
import { attemptOf, failedAttempt, lastErrorOf, type RunOutcome } from '../../engine/attempts.ts'
import { createWorker } from '../../engine/worker.ts'
import { defined } from '../../lib/defined.ts'
import type { Place } from './about.ts'
import { createScheduleFailures } from './failures.ts'
import type { Occasion } from './firing.ts'
import { SCHEDULES_QUEUE } from './schedules.ts'

type ScheduleRunDeps = {
  store: Store
  logs: Activity
  /** Reports a result to the requester, once per key. `by`: the reporting part. */
  report(to: AskedBy, telling: { key: string; text: string; by: string }): Promise<void>
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Whether a skill is paused. */
  isPaused(skill: string): boolean
  /** Somebody with the roles that they have now. */
  callerAs(id: string): Caller
  log: Log
  now(): number
}

/** So many runs at once in this process; each tries for a minute, about. */
const LIMITS = { concurrency: 64, retry: { attempts: 5, first: 4_000, longest: 60_000 } }
const LONGEST_RESULT = 2_000
/** What `by` of a report begins with: the skill that a schedule ran. */
export const SCHEDULED = 'schedule of '

/** What a job says, since version 0.1; `schedule` is its id. */
const runSchema = scheduleSchema
  .pick({
    created: true,
    name: true,
    skill: true,
    args: true,
    channel: true,
    by: true,
    askedBy: true,
    onFailure: true,
    overlap: true,
  })
  .extend({ schedule: z.string(), planned: z.string(), missed: z.number() })

/** Runs what schedules fire, as durable jobs, one for each planned time; what no longer `exists` is not tried again. */
export function createScheduleRuns(
  { store, invoke, callerAs, logs, log, report, isPaused, now }: ScheduleRunDeps,
  schedules: {
    exists(schedule: Place): Promise<boolean>
    /** Called before a run with this key ends that is not tried again. */
    ended(schedule: Place, key: string): Promise<void>
  },
) {
  const failures = createScheduleFailures(store.kv, now)
  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { schedule: id, name, skill, args, by, askedBy, onFailure, ...rest } = runSchema.parse(job.data)
    const { created, channel, planned, missed } = rest
    const over = async () => {
      if (rest.overlap === 'skip') await schedules.ended({ id, created }, job.id)
    }
    if (!(await schedules.exists({ id, created }))) return { outcome: 'done' }
    const attempt = attemptOf(job)
    const about = { channel, schedule: id, name, skill, planned, attempt }
    try {
      if (attempt > LIMITS.retry.attempts) throw lastErrorOf(job)
      const result = await invoke(skill, args, {
        signal,
        // The same over attempts, so that sends and approvals of a repeated run are recognised.
        rootId: `schedule:${job.id}`,
        // As if they had asked for it now: the access rules of now decide.
        caller: by ? callerAs(by.id) : { kind: 'code', id: `schedule:${id}` },
        nonlocals: { schedule: { id, name, planned, missed } },
      })
      const text = textOf(toJson(result))
      if (askedBy && text !== '') {
        await report(askedBy, { key: `schedule:${job.id}`, text, by: `${SCHEDULED}${skill}` })
      }
      await logs.event({ event: 'schedule_ran', ...about, ok: true, result: brief(result) })
      await failures.ended({ id, created })
      await over()
      return { outcome: 'done' }
    } catch (thrown) {
      if (!signal.aborted) {
        const { outcome, error } = failedAttempt(job, thrown, LIMITS.retry, now())
        const told = { ok: false, error: error.message, again: outcome === 'retry' }
        await logs.event({ event: 'schedule_failed', ...about, ...told })
        if (outcome === 'dead') await over()
        const whom = askedBy ?? onFailure
        if (outcome === 'dead') {
          const failing = { id, created, name, skill, error: error.message }
          const { first } = await failures.failed(failing, job.id)
          const text = `${name} (${id}) failed: ${error.message}`
          const key = `schedule:${first}:failed`
          if (whom) await report(whom, { key, text, by: `${SCHEDULED}${skill}` })
        }
      }
      throw thrown
    }
  }

  const isHeld = ({ group }: ClaimedJob) => isPaused(group)
  return { worker: createWorker({ ...LIMITS, queue: SCHEDULES_QUEUE, store, run, isHeld, log, now }) }
}

/** Makes a run durable. Returns whether it is new: the same occasion again adds nothing. */
export function addScheduleRun(store: Pick<Store, 'jobs'>) {
  return async ({ key, schedule, planned, missed }: Occasion): Promise<boolean> => {
    const { id, created, name, skill, args, channel, by, askedBy, onFailure, overlap } = schedule
    const about = { schedule: id, created, name, skill, args, channel }
    const data = {
      ...about,
      ...defined({ by, askedBy, onFailure, overlap }),
      planned: new Date(planned).toISOString(),
      missed,
    }
    const lane = overlap === 'allow' ? key : `${id}:${created}`
    const job = { id: key, lane, group: skill, data, ...(overlap === 'skip' && { notify: true }) }
    const [found] = await store.jobs.add(SCHEDULES_QUEUE, [job])
    return found?.added ?? true
  }
}

/** A log line is no place for a long result. */
function brief(result: unknown): Json {
  const text = JSON.stringify(toJson(result))
  return text.length <= LONGEST_RESULT ? toJson(result) : `${text.slice(0, LONGEST_RESULT)}…`
}
