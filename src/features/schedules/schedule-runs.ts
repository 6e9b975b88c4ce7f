import { z } from 'zod'
import type { Activity } from '../../core/activity.ts'
import type { AskedBy } from '../../core/asked-by.ts'
import type { Caller, InvokeOptions } from '../../core/call.ts'
import { reasonOf } from '../../core/errors.ts'
import { type Json, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { pausedSkillIn } from '../../core/paused-skill.ts'
import { scheduleSchema } from '../../core/schedule.ts'
import { textOf } from '../../core/skill.ts'
import type { ClaimedJob, Store } from '../../core/store.ts'
import { attemptOf, failedAttempt, lastErrorOf, type RunOutcome } from '../../engine/attempts.ts'
import { createWorker } from '../../engine/worker.ts'
import { defined } from '../../lib/defined.ts'
import type { ScheduleKey } from './about.ts'
import { createScheduleFailures } from './failures.ts'
import { keyOfManual, type Occasion } from './firing.ts'
import { createLateness } from './lateness.ts'
import { createRunReports, type RunState } from './run-reports.ts'
import { SCHEDULES_QUEUE } from './schedules.ts'

type ScheduleRunDeps = {
  store: Store
  logs: Activity
  /** Sends a result or a failure to a person, once per key. `by`: what it comes from. */
  report(to: AskedBy, message: { key: string; text: string; by: string }): Promise<void>
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  pauses: {
    /** Whether a run waits for a paused skill. */
    isHeld(job: ClaimedJob): boolean
    /** Records that a run waits for the paused skill that it called; false if it was resumed meanwhile. */
    holdCall(job: ClaimedJob, skill: string): Promise<boolean>
  }
  /** The caller with this identity and its current roles. */
  callerAs(id: string): Caller
  /** Redacts secrets in a text. */
  clean(text: string): string
  /** The start of the daemon (Unix ms). */
  startedAt: number
  log: Log
  now(): number
}

/**
 * `concurrency`: maximum number of runs at the same time in a process. With the pauses of `retry`
 * (ms), the attempts of a run take about a minute.
 */
const LIMITS = { concurrency: 64, retry: { attempts: 5, first: 4_000, longest: 60_000 } }
/** Maximum characters of a result in the log. */
const MAX_RESULT = 2_000
/** The beginning of `by` in reports of schedules. The name of the skill follows. */
export const SCHEDULE_OF = 'schedule of '

/** The data of a job, unchanged since version 0.1. `schedule`: the id of the schedule. */
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
  .extend({
    schedule: z.string(),
    planned: z.string(),
    missed: z.number(),
    startedBy: z.string().exactOptional(),
  })

/**
 * Runs fired schedules as durable jobs, one per planned time. A job whose schedule was deleted does
 * nothing.
 */
export function createScheduleRuns(
  { store, invoke, callerAs, clean, logs, log, report, pauses, startedAt, now }: ScheduleRunDeps,
  schedules: {
    exists(schedule: ScheduleKey): Promise<boolean>
    /** Called with the key of a run that is about to end without another attempt. */
    ended(schedule: ScheduleKey, key: string): Promise<void>
  },
) {
  const failures = createScheduleFailures(store.kv, now)
  const reports = createRunReports(store.kv, now)
  const lateness = createLateness({ startedAt, readRuns: reports.readRuns, now })
  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { schedule: id, name, skill, args, by, askedBy, onFailure, ...rest } = runSchema.parse(job.data)
    const { created, channel, planned, missed } = rest
    const ended = async () => {
      if (rest.overlap === 'skip') await schedules.ended({ id, created }, job.id)
    }
    if (!(await schedules.exists({ id, created }))) return { outcome: 'done' }
    const attempt = attemptOf(job)
    const key = keyOfManual(job)
    const started =
      key === undefined ? {} : { manual: true as const, key, ...defined({ by: rest.startedBy }) }
    const at = Date.parse(planned)
    const reportState = (outcome: RunState['outcome'], more: Partial<RunState> = {}) =>
      reports.report({ id, created }, { planned: at, outcome, ...started, ...more })
    const about = { channel, schedule: id, name, skill, planned, attempt }
    try {
      if (attempt > LIMITS.retry.attempts) throw lastErrorOf(job)
      const isFirst = attempt === 1 && key === undefined
      const lateBecause = isFirst ? await lateness.of({ id, created }, job.id, at) : undefined
      await reportState('running', defined({ lateBecause }))
      const result = await invoke(skill, args, {
        signal,
        // All attempts have the same id, so that sends and approvals of an earlier one are
        // recognised.
        rootId: `schedule:${job.id}`,
        // The run has the creator's current rights, as if they called it now.
        caller: by ? callerAs(by.id) : { kind: 'code', id: `schedule:${id}` },
        nonlocals: { schedule: { id, name, planned, missed } },
      })
      const text = textOf(toJson(result))
      if (askedBy && text !== '') {
        await report(askedBy, { key: `schedule:${job.id}`, text, by: `${SCHEDULE_OF}${skill}` })
      }
      await logs.event({ event: 'schedule_ran', ...about, ok: true, result: shortened(result) })
      await reportState('done', text === '' ? {} : { result: clean(text) })
      await failures.ended({ id, created })
      await ended()
      return { outcome: 'done' }
    } catch (thrown) {
      const isHeldBack = pausedSkillIn(thrown) !== undefined
      if (isHeldBack && !signal.aborted) await reportState('retrying', { error: clean(reasonOf(thrown)) })
      if (!signal.aborted && !isHeldBack) {
        const { outcome, error } = failedAttempt(job, thrown, LIMITS.retry, now())
        const { message } = error
        const again = outcome === 'retry'
        await reportState(again ? 'retrying' : 'failed', { error: clean(message) })
        await logs.event({ event: 'schedule_failed', ...about, ok: false, error: message, again })
        if (outcome === 'dead') {
          await ended()
          const { first } = await failures.failed({ id, created, name, skill, error: message }, job.id)
          const recipient = askedBy ?? onFailure
          const text = `${name} (${id}) failed: ${message}`
          const key = `schedule:${first}:failed`
          if (recipient) await report(recipient, { key, text, by: `${SCHEDULE_OF}${skill}` })
        }
      }
      throw thrown
    }
  }

  const isHeld = (job: ClaimedJob) => {
    if (!pauses.isHeld(job)) return false
    lateness.held(job.id)
    return true
  }
  return {
    worker: createWorker({ ...LIMITS, ...pauses, isHeld, queue: SCHEDULES_QUEUE, store, run, log, now }),
  }
}

/** Makes a run durable. Returns false if the same occasion exists already. */
export function addScheduleRun(store: Pick<Store, 'jobs'>) {
  return async ({ key, schedule, planned, missed, startedBy }: Occasion): Promise<boolean> => {
    const { id, created, name, skill, args, channel, by, askedBy, onFailure, overlap } = schedule
    const about = { schedule: id, created, name, skill, args, channel }
    const data = {
      ...about,
      ...defined({ by, askedBy, onFailure, overlap, startedBy }),
      planned: new Date(planned).toISOString(),
      missed,
    }
    const lane = overlap === 'allow' ? key : `${id}:${created}`
    const job = { id: key, lane, group: skill, data, ...(overlap === 'skip' && { notify: true }) }
    const [found] = await store.jobs.add(SCHEDULES_QUEUE, [job])
    return found?.added ?? true
  }
}

/** The result for the log. A long one is shortened, and becomes a text. */
function shortened(result: unknown): Json {
  const text = JSON.stringify(toJson(result))
  return text.length <= MAX_RESULT ? toJson(result) : `${text.slice(0, MAX_RESULT)}…`
}
