import { z } from 'zod'
import { scheduleSchema } from '../core/assistant-services.ts'
import type { Caller, InvokeOptions } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Store } from '../core/store.ts'
import { attemptError, createWorker, type RunOutcome, type Worker } from '../gateway/worker.ts'
import { defined } from '../lib/defined.ts'
import type { ActivityEntry } from '../state/logs/logs.ts'
import type { Occasion } from '../state/schedules/schedules.ts'

/** The queue of what schedules have fired; its dead letters are listed with all others. */
const SCHEDULES_QUEUE = 'schedules'

/** Runs what schedules fire, as durable jobs: one for each planned time, by whichever daemon is free. */
export type ScheduleRuns = {
  /** Makes the run durable. The same occasion again adds nothing. */
  add(occasion: Occasion): Promise<void>
  worker: Worker
}

const ATTEMPTS = 5
const FIRST_DELAY = 1_000
const LONGEST_DELAY = 60_000
const CLAIM_LEASE = 10_000
const LONGEST_RESULT = 2_000

/** What a job says, since version 0.1; `schedule` is its id. */
const runSchema = scheduleSchema
  .pick({ created: true, name: true, skill: true, args: true, channel: true, by: true })
  .extend({ schedule: z.string(), planned: z.string(), missed: z.number() })

export function createScheduleRuns(deps: {
  store: Pick<Store, 'jobs' | 'onSignal'>
  concurrency: number
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Somebody with the roles that they have now. */
  callerAs(id: string): Caller
  /** Whether the schedule is still there: a deleted one is not tried again. */
  exists(schedule: { id: string; created: string }): Promise<boolean>
  /** Notes `schedule_ran` and `schedule_failed`. Must not throw. */
  record(entry: ActivityEntry): Promise<void>
  log: Log
  now(): number
}): ScheduleRuns {
  const { store, record, log, now } = deps

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const {
      schedule: id,
      created,
      name,
      skill,
      args,
      channel,
      by,
      planned,
      missed,
    } = runSchema.parse(job.data)
    if (!(await deps.exists({ id, created }))) return { outcome: 'done' }
    const attempt = job.failures + job.lost + 1
    const about = { channel, schedule: id, name, skill, planned, attempt }
    try {
      if (attempt > ATTEMPTS) throw new TriviumError('skill_failed', { name: skill, reason: lastReason(job) })
      const result = await deps.invoke(skill, args, {
        signal,
        // The same over attempts, so that sends and approvals of a repeated run are recognised.
        rootId: `schedule:${job.id}`,
        // As if they had asked for it now: the access rules of now decide.
        caller: by ? deps.callerAs(by.id) : { kind: 'code', id: `schedule:${id}` },
        nonlocals: { schedule: { id, name, planned, missed } },
      })
      await record({ event: 'schedule_ran', ...about, ok: true, result: brief(result) })
      return { outcome: 'done' }
    } catch (thrown) {
      if (signal.aborted) throw thrown
      const error = attemptError(thrown, now())
      const permanent = thrown instanceof TriviumError && !thrown.retryable
      const isLast = permanent || attempt >= ATTEMPTS
      await record({ event: 'schedule_failed', ...about, ok: false, error: error.message, again: !isLast })
      if (isLast) {
        log.error(
          { schedule: id, skill, err: thrown },
          'a scheduled skill failed for good and is a dead letter',
        )
        return { outcome: 'dead', error, reason: permanent ? 'permanent' : 'attempts' }
      }
      return { outcome: 'retry', delay: Math.min(LONGEST_DELAY, FIRST_DELAY * 4 ** (attempt - 1)), error }
    }
  }

  return {
    async add({ key, schedule, planned, missed }) {
      const { id, created, name, skill, args, channel, by } = schedule
      const about = { schedule: id, created, name, skill, args, channel, ...defined({ by }) }
      const data = { ...about, planned: new Date(planned).toISOString(), missed }
      const job = { id: key, lane: `${id}:${created}`, group: skill, data }
      await store.jobs.add(SCHEDULES_QUEUE, [job])
    },
    worker: createWorker({
      queue: SCHEDULES_QUEUE,
      store,
      concurrency: deps.concurrency,
      limits: () => new Map(),
      lease: CLAIM_LEASE,
      run,
      log,
      now,
    }),
  }
}

/** A log line is no place for a long result. */
function brief(result: unknown): Json {
  const text = JSON.stringify(toJson(result))
  return text.length <= LONGEST_RESULT ? toJson(result) : `${text.slice(0, LONGEST_RESULT)}…`
}

function lastReason(job: ClaimedJob): string {
  return job.errors.at(-1)?.message ?? `the process that ran it died ${job.lost} times`
}
