import { z } from 'zod'
import { type Schedule, scheduleSchema } from '../core/assistant-services.ts'
import type { Call, Caller, InvokeOptions } from '../core/call.ts'
import { reasonOf } from '../core/errors.ts'
import { type Json, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { ClaimedJob, Store } from '../core/store.ts'
import { attemptOf, createWorker, failedAttempt, lastErrorOf, type RunOutcome } from '../gateway/worker.ts'
import { defined } from '../lib/defined.ts'
import { repeat } from '../lib/loop.ts'
import { type ArtifactStore, createArtifactSweep } from '../state/artifacts/artifacts.ts'
import { createAssistant } from '../state/assistant/assistant.ts'
import { assistantDocument } from '../state/assistant/assistant-state.ts'
import { createTranscriptIndex } from '../state/assistant/transcript-index.ts'
import type { Scope } from '../state/assistant/viewer.ts'
import { textOf, type World } from '../state/assistant/world.ts'
import { createCallLedger } from '../state/ledger.ts'
import type { Logs } from '../state/logs/logs.ts'
import { createSchedules, type Occasion } from '../state/schedules/schedules.ts'
import { workbenchAt } from '../state/workbench/project.ts'
import { createStateDocuments, keepStateCopy } from './state-documents.ts'

/** Artifacts that nothing names any more are looked for at the start, and this often (ms). */
const SWEEP_EVERY = 6 * 3_600_000
/** A round of the schedules that fails is repeated after so many ms. */
const ROUND_AGAIN = 2_500

type DurableDeps = {
  store: Store
  dataDir: string
  /** Where `agent_state.json` and `task_board.json` are. */
  workbenchDir: string
  logs: Logs
  /** What people see of each other. */
  scope(): Scope
  artifacts: ArtifactStore
  /** Names this process in leases and claims. */
  owner: string
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  world: World
  /** Throws where there is no such skill, or the call may not have it invoked. */
  permit(skill: string, call: Call): Promise<void>
  /** Somebody with the roles that they have now. */
  callerAs(id: string): Caller
  log: Log
  now(): number
}

/** What remembers between messages, for a daemon or a command. Touches no file before it is asked for something. */
export function createDurableParts(deps: DurableDeps) {
  const { store, dataDir, workbenchDir, logs, owner, log, now } = deps
  const workbench = workbenchAt(workbenchDir)
  const documents = createStateDocuments({ dataDir, store, log })
  const state = documents.document(assistantDocument)
  const ledger = createCallLedger({ kv: store.kv, by: owner, note: logs.call, now })
  const exists = async ({ id, created }: Pick<Schedule, 'id' | 'created'>) =>
    (await state.load()).document.schedules.some((one) => one.id === id && one.created === created)
  const runs = createScheduleRuns(deps, exists)
  const schedules = createSchedules({ ...deps, state, fire: runs.add, record: logs.event })
  const index = createTranscriptIndex({ dir: dataDir, logs })
  const { overview, ...talk } = createAssistant({ ...deps, kv: store.kv, now, state, index, schedules })
  const sweep = repeat(createArtifactSweep({ ...deps, now }), SWEEP_EVERY, 'artifacts', log)
  const firing = repeat(schedules.tick, ROUND_AGAIN, 'schedules', log)
  let running = false
  let isReadable = false
  let endCopy = async () => {}

  return {
    services: {
      ...talk,
      schedules,
      workbench: { ...workbench, get: async () => ({ dir: workbenchDir, ...(await workbench.get()) }) },
      calls: ledger,
    } satisfies Partial<Services>,
    /** Counts for `trivium status`; where the state cannot be read, why. */
    overview: () => overview().catch((error: unknown) => ({ error: reasonOf(error) })),
    /** Makes what is missing and migrates what is old. What cannot be read is reported, and holds up no messages. */
    async prepare() {
      try {
        await ledger.restore(logs.newestCalls())
        await documents.migrate()
        isReadable = true
      } catch (err) {
        log.error({ err }, 'the state of the assistant cannot be used; its skills will say so')
      }
    },
    /** Begins to fire schedules and to run what they fired. */
    start() {
      running = true
      // A file that could not be taken over stays where it is.
      if (store.kind === 'redis' && isReadable) endCopy = keepStateCopy(state, dataDir, log)
      runs.worker.start()
      firing.start()
      sweep.start()
    },
    /** Ends firing, and finishes or hands back what runs, within `grace` ms. */
    async drain(grace: number) {
      if (!running) return
      running = false
      await Promise.all([sweep.stop(), firing.stop()])
      await schedules.release()
      await runs.worker.stop(grace)
    },
    async close() {
      await endCopy()
      index.close()
      await documents.close()
    },
  }
}

/** The queue of what schedules have fired; its dead letters are listed with all others. */
const SCHEDULES_QUEUE = 'schedules'
/** So many runs at once in this process; each tries for a minute, about. */
const LIMITS = { concurrency: 64, retry: { attempts: 5, first: 4_000, longest: 60_000 } }
const LONGEST_RESULT = 2_000
/** What `by` of a report begins with: the skill that a schedule ran. */
export const SCHEDULED = 'schedule of '

/** What a job says, since version 0.1; `schedule` is its id. */
const runSchema = scheduleSchema
  .pick({ created: true, name: true, skill: true, args: true, channel: true, by: true, askedBy: true })
  .extend({ schedule: z.string(), planned: z.string(), missed: z.number() })

/** Runs what schedules fire, as durable jobs, one for each planned time; what no longer `exists` is not tried again. */
function createScheduleRuns(
  { store, invoke, callerAs, logs, log, world, now }: DurableDeps,
  exists: (schedule: Pick<Schedule, 'id' | 'created'>) => Promise<boolean>,
) {
  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { schedule: id, name, skill, args, by, askedBy, ...rest } = runSchema.parse(job.data)
    const { created, channel, planned, missed } = rest
    if (!(await exists({ id, created }))) return { outcome: 'done' }
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
        await world.report(askedBy, { key: `schedule:${job.id}`, text, by: `${SCHEDULED}${skill}` })
      }
      await logs.event({ event: 'schedule_ran', ...about, ok: true, result: brief(result) })
      return { outcome: 'done' }
    } catch (thrown) {
      if (!signal.aborted) {
        const { outcome, error } = failedAttempt(job, thrown, LIMITS.retry, now())
        const told = { ok: false, error: error.message, again: outcome === 'retry' }
        await logs.event({ event: 'schedule_failed', ...about, ...told })
        if (askedBy && outcome === 'dead') {
          const text = `${name} (${id}) failed: ${error.message}`
          await world.report(askedBy, { key: `schedule:${job.id}:failed`, text, by: `${SCHEDULED}${skill}` })
        }
      }
      throw thrown
    }
  }

  return {
    /** Makes the run durable. The same occasion again adds nothing. */
    async add({ key, schedule, planned, missed }: Occasion) {
      const { id, created, name, skill, args, channel, by, askedBy } = schedule
      const about = { schedule: id, created, name, skill, args, channel, ...defined({ by, askedBy }) }
      const data = { ...about, planned: new Date(planned).toISOString(), missed }
      const job = { id: key, lane: `${id}:${created}`, group: skill, data }
      await store.jobs.add(SCHEDULES_QUEUE, [job])
    },
    worker: createWorker({ ...LIMITS, queue: SCHEDULES_QUEUE, store, run, log, now }),
  }
}

/** A log line is no place for a long result. */
function brief(result: unknown): Json {
  const text = JSON.stringify(toJson(result))
  return text.length <= LONGEST_RESULT ? toJson(result) : `${text.slice(0, LONGEST_RESULT)}…`
}
