import { readableValue } from '../config/readable-value.ts'
import { TriviumError } from '../core/errors.ts'
import { pathGet, toJson } from '../core/json.ts'
import type { Submission } from '../core/message.ts'
import { outputJsonSchema, skillJsonSchema } from '../core/skill.ts'
import { noGateway } from '../engine/receive.ts'
import { draftOf, submit } from '../engine/submit.ts'
import { createHeldTotal } from '../features/pauses/held-counts.ts'
import { createTroubles } from '../features/troubles/troubles.ts'
import type { Address } from '../http/listen-on.ts'
import { defined } from '../lib/defined.ts'
import { usedUpBudgets } from '../lib/used-up-budget.ts'
import { asyncApi, type Socket } from './asyncapi.ts'
import { createCalledPauses } from './called-pauses.ts'
import { withPauses } from './explained-pauses.ts'
import { createLetterCauses } from './letter-causes.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { createOperatorFeed } from './operator-feed.ts'
import { readMetrics } from './readings.ts'
import { showConfiguration } from './shown-configuration.ts'
import { readReadiness, readStatus } from './status.ts'
import { createTroubleReadings } from './trouble-readings.ts'

export type Operator = ReturnType<typeof createOperator>

/**
 * Everything an operator can ask of a daemon: over HTTP, or from a command that runs the daemon in
 * its own process.
 */
export function createOperator(deps: OperatorDeps) {
  const { version, store, manager, gateways, messaging, history } = deps
  const readCauses = createLetterCauses(store.jobs.deadLetters, deps.now)
  const readHeld = createHeldTotal(store.jobs, messaging.pauses.view, deps.now)
  const readTroubleInputs = createTroubleReadings({
    ...deps,
    readCauses,
    refusals: messaging.refusals,
    pauses: messaging.pauses,
    conversations: messaging.services.conversations.list,
  })
  const { list: troubles, service: troubleService } = createTroubles({
    read: readTroubleInputs,
    journal: store.journal,
    kv: store.kv,
    now: deps.now,
  })
  const calledPauses = createCalledPauses(manager, messaging.pauses.view, deps.now)
  const feed = createOperatorFeed({ ...deps, readCauses, readHeld }, troubles)

  const transportOf = (name: string) => {
    const spec = gateways.spec(name)
    if (spec) return spec.transport
    throw noGateway(name, gateways.names(), deps.config().gateways)
  }

  return {
    version,
    history: history.range,
    read: feed.read,
    measured: () => readMetrics({ ...deps, readCauses }, troubles),
    invoke: manager.invoke,
    asyncapi: () => describeSockets(deps),
    artifacts: messaging.services.artifacts,
    board: deps.queues.board,
    skills: () => manager.list().map((info) => describeSkill(deps, info)),
    describe(name: string, seesSecrets: boolean) {
      const { metadata, layers, ...skill } = manager.describe(name)
      const shown = (value: unknown) => (seesSecrets ? value : readableValue(value, deps.clean))
      return toJson({ ...skill, metadata: shown(metadata), layers: shown(layers) })
    },
    troubles,
    /** `trouble-acknowledge` and `trouble-release`. */
    troubleService,
    status: () => readStatus({ ...deps, readCauses, readHeld }, troubles),
    doctor: deps.doctor,
    diagnosis: deps.diagnosis,
    async submit(submission: Submission, signal: AbortSignal) {
      const { accept } = messaging.accept
      const complete = gateways.completed(transportOf(submission.gateway), submission)
      return toJson(
        await submit(complete, { accept, transportOf, replies: messaging.replies, store, signal }),
      )
    },
    /**
     * Explains which routes match an accepted message (by id) or a draft, and for a draft, the
     * pauses and the used-up budget that it would wait for, also in calls of its skill.
     */
    async explain(what: string | Submission) {
      if (typeof what !== 'string') {
        const draft = draftFor(deps, what)
        const { storePause } = deps
        const usedUp = usedUpBudgets(await deps.budgets().catch(() => []), manager.list())
        const pauses = messaging.pauses.view
        return toJson(
          await withPauses(deps.explain(draft), draft, { pauses, storePause, usedUp, calledPauses }),
        )
      }
      const message = await store.journal.get(what)
      if (!message) throw new TriviumError('message_not_found', { id: what })
      return toJson(deps.explain(message))
    },
    /** The message that a submission would become. */
    draft: async (submission: Submission) => toJson(draftFor(deps, submission)),
    /** `control`: the actual address of the control listener. */
    configuration: (control?: Address) => showConfiguration(deps, control),
    reload: deps.reload,
    ready: () => readReadiness(deps),
  }
}

/** A submission as the message that it would become. */
function draftFor(deps: OperatorDeps, submission: Submission) {
  const transport = configuredTransport(deps, submission)
  return draftOf(deps.gateways.completed(transport, submission), transport)
}

/** The transport of a configured gateway, even if it is not running. Throws `gateway_not_found`. */
function configuredTransport({ config }: OperatorDeps, { gateway }: Submission): string {
  const { gateways } = config()
  const found = gateways.find(({ name }) => name === gateway)
  if (found) return found.transport
  throw noGateway(
    gateway,
    gateways.map(({ name }) => name),
  )
}

async function describeSockets({
  config,
  framesOf,
  version,
  subscriptions: storedSubscriptions,
}: OperatorDeps): Promise<object> {
  const { gateways, subscriptions } = config()
  // Subscriptions that a call created are in the store, which may be unavailable.
  const stored = await storedSubscriptions().catch(() => [])
  const sockets = gateways.flatMap(({ name, transport, options }): Socket[] => {
    const frames = framesOf(transport)
    const path = pathGet(options, 'path')
    return frames && typeof path === 'string' ? [{ name, path, frames }] : []
  })
  const topics = new Set([...subscriptions, ...stored].map(({ topic }) => topic))
  return asyncApi(version, sockets, [...topics])
}

/** A listed skill with the schemas of its arguments and result. */
function describeSkill({ manager }: OperatorDeps, info: { name: string }) {
  const skill = manager.get(info.name)
  const { annotations } = skill?.metadata ?? {}
  const output = skill && outputJsonSchema(skill)
  return toJson({ ...info, annotations, args: skill ? skillJsonSchema(skill) : {}, ...defined({ output }) })
}
