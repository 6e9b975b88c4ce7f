import { z } from 'zod'
import { scheduleSchema } from '../core/assistant-services.ts'
import type { Caller, InvokeOptions } from '../core/call.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Store } from '../core/store.ts'
import { attemptOf, createWorker, failedAttempt, lastErrorOf, type RunOutcome } from '../gateway/worker.ts'
import { defined } from '../lib/defined.ts'
import type { ActivityEntry } from '../state/logs/logs.ts'
import type { Occasion } from '../state/schedules/schedules.ts'

/** The queue of what schedules have fired; its dead letters are listed with all others. */
const SCHEDULES_QUEUE = 'schedules'

/** Tries for a minute, about. */
const RETRY = { attempts: 5, first: 4_000, longest: 60_000 }
const LONGEST_RESULT = 2_000

/** What a job says, since version 0.1; `schedule` is its id. */
const runSchema = scheduleSchema
  .pick({ created: true, name: true, skill: true, args: true, channel: true, by: true })
  .extend({ schedule: z.string(), planned: z.string(), missed: z.number() })

/** What runs need of the daemon. */
export type RunDeps = {
  store: Pick<Store, 'jobs' | 'onSignal'>
  concurrency: number
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Somebody with the roles that they have now. */
  callerAs(id: string): Caller
  log: Log
  now(): number
}

/**
 * Runs what schedules fire, as durable jobs: one for each planned time, by whichever daemon is free. What no longer `exists`
 * is not tried again. `record` notes `schedule_ran` and `schedule_failed`.
 */
export function createScheduleRuns(
  { store, concurrency, invoke, callerAs, log, now }: RunDeps,
  exists: (schedule: { id: string; created: string }) => Promise<boolean>,
  record: (entry: ActivityEntry) => Promise<void>,
) {
  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { schedule: id, name, skill, args, by, ...rest } = runSchema.parse(job.data)
    const { created, channel, planned, missed } = rest
    if (!(await exists({ id, created }))) return { outcome: 'done' }
    const attempt = attemptOf(job)
    const about = { channel, schedule: id, name, skill, planned, attempt }
    try {
      if (attempt > RETRY.attempts) throw lastErrorOf(job)
      const result = await invoke(skill, args, {
        signal,
        // The same over attempts, so that sends and approvals of a repeated run are recognised.
        rootId: `schedule:${job.id}`,
        // As if they had asked for it now: the access rules of now decide.
        caller: by ? callerAs(by.id) : { kind: 'code', id: `schedule:${id}` },
        nonlocals: { schedule: { id, name, planned, missed } },
      })
      await record({ event: 'schedule_ran', ...about, ok: true, result: brief(result) })
      return { outcome: 'done' }
    } catch (thrown) {
      if (!signal.aborted) {
        const { outcome, error } = failedAttempt(job, thrown, RETRY, now())
        const told = { ok: false, error: error.message, again: outcome === 'retry' }
        await record({ event: 'schedule_failed', ...about, ...told })
      }
      throw thrown
    }
  }

  return {
    /** Makes the run durable. The same occasion again adds nothing. */
    async add({ key, schedule, planned, missed }: Occasion) {
      const { id, created, name, skill, args, channel, by } = schedule
      const about = { schedule: id, created, name, skill, args, channel, ...defined({ by }) }
      const data = { ...about, planned: new Date(planned).toISOString(), missed }
      const job = { id: key, lane: `${id}:${created}`, group: skill, data }
      await store.jobs.add(SCHEDULES_QUEUE, [job])
    },
    worker: createWorker({ queue: SCHEDULES_QUEUE, store, concurrency, retry: RETRY, run, log, now }),
  }
}

/** A log line is no place for a long result. */
function brief(result: unknown): Json {
  const text = JSON.stringify(toJson(result))
  return text.length <= LONGEST_RESULT ? toJson(result) : `${text.slice(0, LONGEST_RESULT)}…`
}
