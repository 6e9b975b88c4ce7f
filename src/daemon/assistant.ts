import { join } from 'node:path'
import type { AssistantService, CallService, ScheduleService } from '../core/assistant-services.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Services } from '../core/services.ts'
import type { Call, InvokeOptions } from '../core/skill.ts'
import type { Store } from '../core/store.ts'
import { parseDuration } from '../core/units.ts'
import { createArtifactSweep } from '../state/artifact-sweep.ts'
import { createArtifacts } from '../state/artifacts.ts'
import { type Assistant, createAssistant, type Overview } from '../state/assistant.ts'
import { assistantDocument, type Schedule } from '../state/assistant-state.ts'
import { createFileCallJournal } from '../state/call-journal-file.ts'
import { createSharedCallJournal } from '../state/call-journal-shared.ts'
import { type CallLedger, createCallLedger } from '../state/call-ledger.ts'
import type { ActivityEntry, Logs } from '../state/logs.ts'
import { createScheduler, parseMisfire, type Scheduler } from '../state/scheduler.ts'
import { createSearchIndex } from '../state/search-index.ts'
import { repeat } from './housekeeping.ts'
import { createScheduleRuns } from './schedule-runs.ts'
import { keepStateCopy } from './state-copy.ts'
import { createStateDocuments } from './state-documents.ts'
import { createWorkbenchService } from './workbench-service.ts'

/** What remembers between messages: notes, searches, delegations, schedules, the workbench, calls made once. */
export type DurableParts = {
  services: Pick<Services, 'assistant' | 'schedules' | 'workbench' | 'calls'>
  /** For `trivium status`; where the state cannot be read, why. */
  overview(): Promise<Overview | { error: string }>
  /** Makes what is missing and migrates what is old. What cannot be read is reported, and holds up no messages. */
  prepare(): Promise<void>
  /** Begins to fire schedules and to run what they fired. */
  start(): void
  /** Ends firing, and finishes or hands back what runs, within `grace` ms. */
  drain(grace: number): Promise<void>
  close(): Promise<void>
}

export type DurableDeps = {
  store: Store
  dataDir: string
  /** Where `agent_state.json` and `task_board.json` are. */
  workbenchDir: string
  logs: Logs
  /** Names this process in leases and claims. */
  owner: string
  concurrency: number
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Throws `skill_not_found` for a skill that there is not. */
  requireSkill(name: string): void
  log: Log
  now(): number
}

/** Artifacts that nothing names any more are looked for at the start, and this often (ms). */
const SWEEP_EVERY = 6 * 3_600_000

/** Wires the durable state of one daemon, or of one command. Touches no file before it is asked for something. */
export function createDurableParts(deps: DurableDeps): DurableParts {
  const { store, dataDir, logs, owner, log, now } = deps
  const documents = createStateDocuments({ dataDir, store, log, now })
  const state = documents.document(assistantDocument)
  const index = createSearchIndex({ path: join(dataDir, 'search.db'), logs })
  const assistant = createAssistant({ state, logs, index, now })
  const ledger = createCallLedger(
    store.kind === 'redis'
      ? createSharedCallJournal({ kv: store.kv, by: owner, now })
      : createFileCallJournal({ path: join(dataDir, 'pending_calls.jsonl'), now }),
  )
  const record = async (entry: ActivityEntry) => {
    try {
      await logs.event(entry)
    } catch (err) {
      log.error({ err, event: entry.event }, 'the event log could not be written')
    }
  }
  const runs = createScheduleRuns({
    store,
    owner,
    concurrency: deps.concurrency,
    invoke: deps.invoke,
    exists: async ({ id, created }) =>
      (await state.load()).document.schedules.some((one) => one.id === id && one.created === created),
    record,
    log,
    now,
  })
  const scheduler = createScheduler({ store, state, fire: runs.add, record, owner, log, now })
  const artifacts = createArtifacts(dataDir, { now })
  const sweep = repeat(
    createArtifactSweep({ artifacts, store, dataDir, folders: [deps.workbenchDir], log, now }),
    SWEEP_EVERY,
    'artifacts',
    log,
  )
  let running = false
  let isReadable = false
  let endCopy = async () => {}

  return {
    services: {
      assistant: assistantService(assistant),
      schedules: scheduleService(scheduler, deps),
      workbench: createWorkbenchService(deps.workbenchDir, now),
      calls: callService(ledger),
    },
    async overview() {
      try {
        return await assistant.overview()
      } catch (error) {
        return { error: reasonOf(error) }
      }
    },
    async prepare() {
      try {
        for (const { name, from, to } of await documents.migrate()) {
          log.info({ document: name, from, to }, 'a document was migrated; a backup is beside it')
        }
        isReadable = true
      } catch (err) {
        log.error({ err }, 'the state of the assistant cannot be used; its skills will say so')
      }
    },
    start() {
      running = true
      // A file that could not be taken over stays where it is.
      if (store.kind === 'redis' && isReadable) endCopy = keepStateCopy({ state, dataDir, log, now })
      runs.worker.start()
      scheduler.start()
      sweep.begin()
    },
    async drain(grace) {
      if (!running) return
      running = false
      await sweep.end()
      await scheduler.stop()
      await runs.worker.stop(grace)
    },
    async close() {
      await endCopy()
      index.close()
      artifacts.close()
      await ledger.close()
      await documents.close()
    },
  }
}

function assistantService(assistant: Assistant): AssistantService {
  return {
    remember: (args, call) => assistant.remember({ ...args, channel: scopeOf(call) ?? channelOf(call) }),
    recall: (args, call) => assistant.recall({ ...args, ...only('channel', scopeOf(call)) }),
    forget: (args, call) =>
      assistant.forget({ ...args, channel: channelOf(call), ...only('in', scopeOf(call)) }),
    search: (args, call) =>
      assistant.search({ ...args, channel: channelOf(call), ...only('in', scopeOf(call)) }),
    delegate: (args, call) => assistant.delegate({ ...args, channel: channelOf(call) }),
    queueDigest: (args, call) => assistant.queueDigest({ ...args, channel: channelOf(call) }),
    take: async ({ worker, by }, call) =>
      (await assistant.take({ worker, by: by ?? call.caller.id ?? worker })) ?? null,
    accept: (args) => assistant.accept(args),
    delegations: (args) => assistant.delegations(args),
  }
}

function scheduleService(scheduler: Scheduler, deps: DurableDeps): ScheduleService {
  return {
    async create({ name, misfire, ...rest }, call) {
      deps.requireSkill(rest.skill)
      const by = makerOf(call)
      return await scheduler.create({
        ...rest,
        ...(by ? { by } : {}),
        name: name ?? rest.skill,
        misfire: parseMisfire(misfire, parseDuration),
        channel: channelOf(call),
      })
    },
    list: () => scheduler.list(),
    async delete({ id }) {
      const existed = await scheduler.delete(id)
      return { ok: true, existed }
    },
  }
}

/**
 * For whom a schedule runs its skill. Undefined for operators, as the access rules know them: who holds the control
 * token, the command line, code of the daemon.
 */
function makerOf({ caller, message }: Call): Schedule['by'] {
  const { id, roles = [] } = caller
  if (caller.kind !== 'route' || roles.includes('operator')) return undefined
  if (id !== undefined && message?.from.verified) return { id, roles: [...roles] }
  throw new TriviumError('forbidden', {
    what: 'A schedule',
    reason: 'it runs with the rights of who made it, and there is no proof who sent this message',
  })
}

function callService(ledger: CallLedger): CallService {
  return {
    once: (key, run) => ledger.once<Json>(key, run),
    unfinished: () => ledger.unfinished(),
    async settle({ key, happened, result }) {
      if (!happened && result !== null) {
        throw new TriviumError('usage', { details: 'A call that did not happen has no result.' })
      }
      await ledger.settle(key, happened ? { result } : { happened: false })
      return { ok: true }
    },
  }
}

/** The channel to which somebody of whom there is no proof is confined: their own conversation. */
function scopeOf({ message }: Call): string | undefined {
  return message && !message.from.verified ? `${message.gateway}/${message.conversation}` : undefined
}

function only<Name extends string>(name: Name, value: string | undefined): { [name in Name]?: string } {
  return value === undefined ? {} : ({ [name]: value } as { [name in Name]: string })
}

/** The gateway of the message that it began with, else how it was asked for: `cli`, `http`, `mcp`, `code`. */
function channelOf({ message, caller }: Call): string {
  return message?.gateway ?? caller.kind
}
