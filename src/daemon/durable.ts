import { existsSync } from 'node:fs'
import { schedulePlace } from '../config/schedule-places.ts'
import { reasonOf } from '../core/errors.ts'
import type { Check } from '../core/transport.ts'
import { HOUR } from '../core/units.ts'
import type { Outbox } from '../engine/outbox.ts'
import { createArtifactSweep } from '../features/artifacts/artifact-sweep.ts'
import { createAssistant } from '../features/assistant/assistant.ts'
import { assistantDocument } from '../features/assistant/assistant-state.ts'
import { createAssistantContext } from '../features/assistant/daemon-context.ts'
import { createForgetting } from '../features/assistant/forget-person.ts'
import { createTranscriptIndex } from '../features/assistant/transcript-index.ts'
import { createCallLedger } from '../features/calls/ledger.ts'
import { createDocumentManager, createStateCopy } from '../features/documents/state-documents.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import type { ScheduleState } from '../features/schedules/about.ts'
import { addScheduleRun, createScheduleRuns } from '../features/schedules/schedule-runs.ts'
import { createSchedules } from '../features/schedules/schedules.ts'
import { createRunLogs } from '../features/usage/run-log.ts'
import { workbenchAt, workbenchDirOf } from '../features/workbench/project.ts'
import { repeat } from '../lib/loop.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { OperationServices } from './built-in-skills.ts'
import type { Foundation } from './foundation.ts'

/** Interval (ms) of the sweep for unreferenced artifacts, which also runs at the start. */
const SWEEP_INTERVAL = 6 * HOUR
/** Pause (ms) after a failed round of the schedules. */
const RETRY_PAUSE = 2_500

type Parts = {
  manager: Pick<SkillManager, 'invoke' | 'permit' | 'requireAccess' | 'list' | 'get'>
  outbox: Outbox
  /** Holds runs of paused skills. */
  pauses: Pauses['ofRuns']
  /** Called at the end of an assistant call. */
  ended(rootId: string): Promise<unknown>
}

/**
 * The parts that keep state between messages: assistant, schedules, workbench and calls. For a
 * daemon or a command. Touches no file before its first use.
 */
export function createDurableParts(base: Foundation, { manager, outbox, pauses, ended }: Parts) {
  const { config, store, access, dataDir, logs, owner, log, now } = base
  const { invoke, permit } = manager
  const { callerAs, rules } = access
  const workbenchDir = workbenchDirOf(config().file)
  const workbench = workbenchAt(workbenchDir)
  const documents = createDocumentManager({ spec: assistantDocument, dataDir, store, log })
  const state = documents.document(assistantDocument)
  const copy = store.kind === 'redis' ? createStateCopy(assistantDocument, state, dataDir, log) : undefined
  const ledger = createCallLedger({ kv: store.kv, by: owner, note: logs.call, now })
  const assistantContext = createAssistantContext({ ...base, manager, outbox, onEnd: ended, rules })
  const { report } = assistantContext
  const schedules = makeSchedules(base, { state, permit, pauses })
  const runs = createScheduleRuns({ ...base, pauses, invoke, callerAs, report }, schedules)
  const index = createTranscriptIndex({ dir: dataDir, logs })
  const assistantParts = { context: assistantContext, state, index, schedules }
  const { overview, ...assistantServices } = makeAssistant(base, assistantParts)
  const sweep = repeat(createArtifactSweep({ ...base, workbenchDir }), SWEEP_INTERVAL, 'artifacts', log)
  const firing = repeat(schedules.tick, RETRY_PAUSE, 'schedules', log)
  let isRunning = false
  /** A failed preparation is logged, and does not block messages. */
  const tryTo = (prepare: () => Promise<unknown>, failure: string) =>
    prepare().catch((err: unknown) => log.error({ err }, failure))

  return {
    services: {
      ...assistantServices,
      schedules,
      workbench: { ...workbench, get: async () => ({ dir: workbenchDir, ...(await workbench.get()) }) },
      calls: ledger,
    } satisfies Partial<OperationServices>,
    /** The stored data about people, and the search index of the transcript. */
    personalData: {
      memory: createForgetting(documents, state),
      copy: copy && forgettingInCopy(copy),
      index,
    },
    /** Counts for `trivium status`, or why the state cannot be read. */
    overview: () => overview().catch((error: unknown) => ({ error: reasonOf(error) })),
    /** Unusable documents, and why. */
    check: () =>
      checkDocuments({
        state: () => state.load(),
        ...(existsSync(workbenchDir) && { workbench: workbench.get }),
      }),
    /** Restores lost records of calls, and creates or migrates documents. Logs failures. */
    async prepare() {
      await tryTo(
        () => ledger.restore(logs.newestCalls()),
        'the records of calls could not be restored from pending_calls.jsonl',
      )
      await tryTo(documents.migrate, 'the state of the assistant cannot be used; its skills will say so')
    },
    /** Starts schedules, their runs, the artifact sweep and (with Redis) the copy of the state. */
    start() {
      isRunning = true
      copy?.start()
      runs.worker.start()
      firing.start()
      sweep.start()
    },
    /** Stops all but the copy. Running jobs get `grace` ms, and are then released. */
    async drain(grace: number) {
      if (!isRunning) return
      isRunning = false
      await Promise.all([sweep.stop(), firing.stop()])
      await schedules.release()
      await runs.worker.stop(grace)
    },
    async close() {
      await copy?.stop()
      index.close()
      await documents.close()
    },
  }
}

function makeSchedules(
  base: Foundation,
  {
    state,
    permit,
    pauses,
  }: Pick<Parts, 'pauses'> & Pick<Parts['manager'], 'permit'> & { state: ScheduleState },
) {
  const { config, store, logs } = base
  const skillRuns = createRunLogs({ kv: store.kv, now: base.now })
  return createSchedules({
    ...base,
    ofFile: () => config().schedules,
    placeOf: (name) => schedulePlace(config().asRead, name),
    permit,
    pauseOfSkill: pauses.pauseOfSkill,
    state,
    fire: addScheduleRun(store),
    runsOf: async (skill) => (await skillRuns.read(skill)).recent,
    record: logs.event,
  })
}

function forgettingInCopy({ documents, betweenUpdates }: ReturnType<typeof createStateCopy>) {
  return createForgetting(documents, documents.document(assistantDocument), betweenUpdates)
}

type AssistantParts = Pick<Parameters<typeof createAssistant>[0], 'context' | 'state' | 'index' | 'schedules'>

function makeAssistant(base: Foundation, parts: AssistantParts) {
  const { config, store } = base
  return createAssistant({ ...base, ...parts, scope: () => config().assistant.scope, kv: store.kv })
}

/** Unreadable documents, and why. */
async function checkDocuments(reads: Record<string, () => Promise<unknown>>): Promise<Check[]> {
  const checks = Object.entries(reads).map(async ([name, read]): Promise<Check[]> => {
    try {
      await read()
      return []
    } catch (error) {
      return [{ name: `document ${name}`, ok: false, detail: reasonOf(error) }]
    }
  })
  return (await Promise.all(checks)).flat()
}
