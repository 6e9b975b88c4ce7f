import { basename } from 'node:path'
import type { Metrics } from '../api/metrics.ts'
import { type Call, type Caller, type InvokeOptions, type ModelStep, requireGateway } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject, type Json } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import { makeId } from '../core/message-id.ts'
import type { Route } from '../core/route.ts'
import type { ArtifactService, Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import type { Reply, ReplyPlace, Transport, TransportDeps } from '../core/transport.ts'
import { createAccept } from '../engine/accept.ts'
import { asideJob } from '../engine/aside.ts'
import { createConversations } from '../engine/conversations.ts'
import { createDeadLetters } from '../engine/dead-letters.ts'
import { createDispatch, DISPATCH_QUEUE, type Dispatch, type Target } from '../engine/dispatch.ts'
import { createEvents } from '../engine/events.ts'
import type { Gateways } from '../engine/gateways.ts'
import { createMaxDeliveries } from '../engine/max-deliveries.ts'
import { createMessages } from '../engine/messages.ts'
import { createOutbox, OUTBOX_QUEUE } from '../engine/outbox.ts'
import { createOutboxWorker } from '../engine/outbox-worker.ts'
import { createReceive, noGateway } from '../engine/receive.ts'
import type { createRefusals } from '../engine/refusals.ts'
import { createReplay } from '../engine/replay.ts'
import { createResend } from '../engine/resend.ts'
import type { Router } from '../engine/router.ts'
import { createSearch } from '../engine/search.ts'
import { createSend } from '../engine/send.ts'
import { createReplyLog, isLogTarget } from '../engine/submit.ts'
import { createSubscriptionRunner } from '../engine/subscriptions.ts'
import { isDecision } from '../features/approvals/words.ts'
import type { Queues } from '../features/bullmq/queues.ts'
import { SCHEDULED } from '../features/schedules/schedule-runs.ts'
import type { Tracing } from '../features/tracing/tracing.ts'
import type { Transcript } from '../features/transcript/transcript.ts'
import { NO_GATEWAY } from '../http/missed.ts'
import { defined } from '../lib/defined.ts'
import type { Access } from '../runtime/access.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { RunRecords } from '../runtime/model/run-record.ts'

/** The roads as transports and skills see them. */
export type Roads = ReturnType<typeof createRoads>

/** Invocations and sends at once in this process; routes bound theirs further. */
const CONCURRENCY = 64
/** Messages in memory between a transport and the store, at most. */
const MAX_PENDING = 20_000
/** Messages that dispatch may be behind before new ones are refused. */
const MAX_BACKLOG = 1_000_000

/** Makes the entrances of the roads on a store. They need nothing that runs. */
export function createRoads(deps: {
  store: Store
  gateways: Gateways
  /** The gateways of the configuration, also those that do not run here. */
  gatewayNames(): readonly string[]
  /** `receive: { max-deliveries }` of a gateway. */
  maxDeliveries(gateway: string): number | undefined
  files: ArtifactService
  metrics: Metrics
  /** Throws where the call may not have a skill invoked. */
  permit(skill: string, call: Call): Promise<void>
  owner: string
  refusals: ReturnType<typeof createRefusals>
  tracing: Tracing | undefined
  router: Pick<Router, 'match'>
  logged(messageId: string): readonly object[]
  pushed(messageId: string): Promise<readonly object[]>
  traceUrl(trace: string): string | undefined
  log: Log
  now(): number
}) {
  const { store, gateways, metrics, tracing, log, now } = deps
  const { journal } = store
  // By an id the metrics tell how long a send has waited.
  const newKey = () => makeId(deps.now(), 0)
  const outbox = createOutbox(store, deps.now, gateways.unanswerable)
  const events = createEvents(store, deps.now, deps.permit)
  const door = createAccept({
    journal,
    accepted: countAccepted(deps),
    refused: deps.refusals.add,
    maxPending: MAX_PENDING,
    maxBacklog: MAX_BACKLOG,
  })
  const accept = tracing ? tracing.accept(door.accept) : door.accept
  const acceptAll = tracing ? tracing.acceptAll(door.acceptAll) : door.acceptAll
  const deliveries = createMaxDeliveries({ store, limitOf: deps.maxDeliveries, log, now })
  const services = {
    events,
    messages: {
      ...createMessages(deps),
      ...createSearch(store),
      resend: createResend({ store, accept, now: deps.now }),
      replay: createReplay({ store, match: deps.router.match, now: deps.now }),
    },
    conversations: createConversations(store),
    artifacts: deps.files,
    deadLetters: createDeadLetters(store),
    gateways: {
      ...createReceive({
        store,
        taken: metrics.taken,
        known: deps.gatewayNames,
        refuses: deliveries.refuses,
      }),
      ...createSend({
        outbox,
        store,
        gateway: gateways.spec,
        transport: gateways.get,
        files: deps.files,
        newKey,
      }),
      ...gateways.installs,
      list: async (_, { caller }) =>
        gateways.list().filter(({ name }) => caller.gateways?.includes(name) ?? true),
      async reconnect({ gateway: name }, { caller }) {
        requireGateway(caller, name)
        return gateways.reconnect(name)
      },
      async refused({ gateway: name }, { caller }) {
        const known = deps.gatewayNames()
        if (name !== undefined) requireGateway(caller, name)
        if (name !== undefined && !known.includes(name)) throw noGateway(name, known)
        const seen = name === undefined ? (caller.gateways ?? [...known, NO_GATEWAY]) : [name]
        return { daemon: deps.owner, refusals: deps.refusals.list(seen) }
      },
    },
  } satisfies Partial<Services>
  const listeners: TransportDeps['listeners'] = {
    async call(route, message) {
      await store.jobs.add(DISPATCH_QUEUE, [asideJob(route, message, Date.now())])
    },
    accepted: journal.get,
  }
  return {
    listeners,
    accept: { ...door, accept },
    /** For transports. */
    doors: { accept, acceptAll },
    replies: (gateway: string) => createReplyLog(store, gateway),
    outbox,
    events,
    deliveries,
    refusals: deps.refusals,
    services,
  }
}

function countAccepted({
  metrics,
  refusals,
}: Pick<Parameters<typeof createRoads>[0], 'metrics' | 'refusals'>) {
  return (gateway: string, duplicate: boolean) => {
    metrics.accepted(gateway, duplicate)
    refusals.accepted(gateway)
  }
}

/** What moves along on the roads by itself: dispatch, the sending of replies, and skills invoked for events. */
export function createRoadWorkers(deps: {
  store: Store
  router: Router
  gateways: Gateways
  roads: Roads
  manager: Pick<SkillManager, 'invoke'>
  queues: Pick<Queues, 'run'>
  access: Access
  /** Takes a message as a decision, and returns what to answer to it; undefined where it is none. */
  decide(message: Message, caller: Caller): Promise<string | undefined> | undefined
  transcript: Transcript
  metrics: Metrics
  tracing: Tracing | undefined
  runs: RunRecords
  log: Log
  now(): number
}) {
  const { store, gateways, roads, manager, queues, transcript, metrics, tracing, runs, log } = deps
  const shared = { store, concurrency: CONCURRENCY, log, now: deps.now }

  const replies = createOutboxWorker({
    ...shared,
    gateways: gateways.names,
    sender(reply) {
      const sender = isLogTarget(reply)
        ? { send: () => roads.replies(reply.gateway).append(reply.conversation, reply) }
        : gateways.get(reply.gateway)
      return sender && tracing ? tracing.sender(sender) : sender
    },
    async sent(reply, outcome, seconds) {
      metrics.sent(reply.gateway, outcome, seconds)
      if (outcome === 'sent') await transcript.replied(reply)
    },
  })
  const subscriptions = createSubscriptionRunner({
    ...shared,
    invoke({ ref, event, by }, signal, rootId) {
      const caller =
        by.kind === 'route' ? deps.access.callerAs(by.id) : { kind: 'code' as const, id: 'subscription' }
      const run = () => manager.invoke(ref, event, { signal, rootId, caller })
      return tracing ? tracing.event(`process ${ref}`, event, run) : run()
    },
  })
  const listen: Target = ({ message, route: { bolt = '', name, timeout }, signal }) => {
    // The gateway may be off here for a moment, as in a reload.
    const listener = gateways.get(message.gateway)
    if (!listener?.listen) throw noGateway(message.gateway, gateways.names())
    return listener.listen(bolt, { message, route: name, signal, timeout })
  }
  const answer: Target = async (dispatched) => {
    const { message, route } = dispatched
    if (dispatched.isAside) return listen(dispatched)
    const caller = deps.access.callerOf(message)
    const decision = deps.decide(message, caller)
    const decided = decision && (await decision)
    if (decided !== undefined) return decided
    const transport = route.reply === 'none' ? undefined : gateways.get(message.gateway)
    if (route.queue !== undefined) {
      const progress = (progress: Json) => transport?.progress?.({ ...placeOf(message), progress })
      return queues.run(route.queue, { ...dispatched, progress })
    }
    if (route.bolt !== undefined) return listen(dispatched)
    const invoke = (shown: Partial<InvokeOptions>) =>
      manager.invoke(targetOf(route), skillArgs(dispatched), {
        ...invokeOptions(dispatched),
        ...shown,
        caller,
      })
    const canShow = transport?.working || transport?.stream
    return canShow ? showWork(transport, dispatched, invoke) : invoke({})
  }
  const run = tracing ? tracing.process(answer) : answer
  const dispatch = createDispatch({
    ...shared,
    router: deps.router,
    async invoke(dispatched) {
      const { message, route } = dispatched
      if (dispatched.isAside) return run(dispatched)
      const skill = targetOf(route)
      const lines = route.bolt === undefined ? transcript : transcript.heard
      if (dispatched.isFirst) {
        for (const one of dispatched.collected) await lines.received(one)
        await lines.received(message)
      }
      try {
        const result = await run(dispatched)
        await lines.processed(message, { skill, ok: true, approval_required: false })
        return result
      } catch (error) {
        const approval_required = error instanceof TriviumError && error.code === 'approval_pending'
        await lines.processed(message, { skill, ok: false, error: reasonOf(error), approval_required })
        throw error
      }
    },
    isAlone: isDecision,
    isUrgent: gateways.isUrgent,
    unrouted: transcript.received,
    steered: transcript.received,
    ended: (message) => void roads.events.releaseOwn(message.id),
    settled({ id }, isDone) {
      if (!isDone) return runs.leave(id)
      runs.end(id).catch((err) => log.warn({ messageId: id, err }, 'the record of a run was not removed'))
    },
    outbox: roads.outbox,
    metrics: metrics.dispatch,
  })

  return {
    start() {
      for (const each of [replies, dispatch, subscriptions, roads.deliveries]) each.start()
    },
    /** Routes changed: what waited for a limit or a match may go on. */
    wake: dispatch.wake,
    /** What is worked on here, and since when (Unix ms). */
    running: () => [
      ...dispatch.running().map(({ job: { message, lane }, since }) => {
        return { road: DISPATCH_QUEUE, gateway: message?.gateway ?? lane, since }
      }),
      ...replies.running().map(({ job, since }) => ({ road: OUTBOX_QUEUE, gateway: job.group, since })),
    ],
    /** Finishes or hands back what runs, within `left()` ms; replies that are due still go out. */
    async drain(left: () => number) {
      await roads.accept.idle()
      const grace = left()
      await Promise.all([dispatch, subscriptions, roads.deliveries].map((each) => each.stop(grace)))
      await replies.stop(left())
      await transcript.flush()
    },
  }
}

/** The skill whose reply it is, where that is known. */
export function skillOf({ by }: Reply, routes: readonly Route[]): string | undefined {
  if (by?.startsWith(SCHEDULED)) return by.slice(SCHEDULED.length)
  const route = routes.find(({ name }) => by === `route ${name}`)
  return route && targetOf(route)
}

/** Who answers a route, for logs. */
function targetOf({ skill, queue, bolt }: Route): string {
  return skill ?? (bolt === undefined ? `queue:${queue}` : `bolt:${basename(bolt)}`)
}

/** Where what is shown of a reply goes before it is made. */
function placeOf({ id: inReplyTo, conversation, data }: Message): ReplyPlace {
  const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
  return { inReplyTo, conversation, ...defined({ target }) }
}

/** Lets the conversation see that its skill works and a model's answer grow, and end it, where the transport can show that. */
async function showWork(
  transport: Pick<Transport, 'working' | 'stream'>,
  { message, signal }: Dispatch,
  invoke: (shown: Pick<InvokeOptions, 'signal' | 'onModel'>) => Promise<unknown>,
): Promise<unknown> {
  const place = placeOf(message)
  const stopped = new AbortController()
  const shown = transport.working?.(message, () => stopped.abort())
  let text = ''
  const onModel = ({ text: delta, tool, known }: ModelStep) => {
    if (delta === undefined) return shown?.tool(tool)
    text += delta
    if (!known) transport.stream?.({ ...place, delta, text })
  }
  try {
    return await invoke({
      ...(shown && { signal: AbortSignal.any([signal, stopped.signal]) }),
      ...(transport.stream && { onModel }),
    })
  } catch (error) {
    if (signal.aborted || !stopped.signal.aborted) throw error
    return `${text}\n\n_Stopped._`.trim()
  } finally {
    shown?.end()
  }
}

/** The arguments of every dispatched skill; `sessionId` is the conversation. One that collects gets all texts, and `messages`. */
function skillArgs({ message, collected, route }: Dispatch): Record<string, unknown> {
  const { from, subject, conversation } = message
  const messages = route['while-busy'] === 'collect' ? [...collected, message] : [message]
  return {
    ...route.args,
    text: messages.map(({ text }) => text).join('\n\n'),
    ...(route['while-busy'] === 'collect' && { messages }),
    from: from.address ?? from.id,
    ...defined({ subject }),
    message,
    route: route.name,
    sessionId: conversation,
  }
}

function invokeOptions({ message, route, sends, steer, signal }: Dispatch): InvokeOptions {
  const { headers } = message.data
  return {
    message,
    route: route.name,
    signal,
    timeout: route.timeout,
    trace: message.trace,
    rootId: message.id,
    sends,
    ...(route.model !== undefined && { model: route.model }),
    ...(route.approval !== undefined && { approval: route.approval }),
    ...(steer && { steer }),
    ...(isJsonObject(headers) && { nonlocals: { request: { headers } } }),
  }
}
