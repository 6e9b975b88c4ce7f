import { randomUUID } from 'node:crypto'
import type { Metrics } from '../control/metrics.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { Caller, InvokeOptions } from '../core/skill.ts'
import type { Store } from '../core/store.ts'
import type { Transport } from '../core/transport.ts'
import { type Accept, createAccept } from '../gateway/accept.ts'
import { createDispatch, type Dispatch } from '../gateway/dispatch.ts'
import { createRefSubscriptions } from '../gateway/event-refs.ts'
import { createEvents, type Events } from '../gateway/events.ts'
import type { Gateways } from '../gateway/gateways.ts'
import { createDeadLetters, createMessages } from '../gateway/messages.ts'
import { createOutbox, type Outbox } from '../gateway/outbox.ts'
import { createReceive } from '../gateway/receive.ts'
import { createReplyLog } from '../gateway/replies.ts'
import type { Router } from '../gateway/router.ts'
import { createSend } from '../gateway/send.ts'
import { isLogTarget, logSender } from '../gateway/submit.ts'
import type { Transcript } from './transcript.ts'

/** What the roads need besides the store; gateways and skills come later than the roads, so they are asked. */
export type RoadsDeps = {
  store: Store
  /** Names this process in claims and leases. */
  owner: string
  concurrency: number
  maxBacklog: number
  routes(): { router: Router; routes: readonly Route[] }
  gateways(): Gateways
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  /** Who asks when a message starts a skill. */
  callerOf(message: Message): Caller
  transcript: Transcript
  metrics: Metrics
  log: Log
  now(): number
}

export type Roads = ReturnType<typeof createRoads>

/** Messages in memory between a transport and the store, at most. */
const MAX_PENDING = 20_000

/** Wires the three roads and the outbox onto a store. Nothing runs before `start`. */
export function createRoads(deps: RoadsDeps) {
  const { store, owner, transcript, metrics, log, now } = deps

  const accept: Accept = createAccept({
    journal: store.journal,
    metrics: metrics.accept,
    maxPending: MAX_PENDING,
    maxBacklog: deps.maxBacklog,
  })
  const replies = (gateway: string) => createReplyLog(store, gateway)
  const outbox: Outbox = createOutbox({
    store,
    owner,
    concurrency: deps.concurrency,
    gateways: () => deps.gateways().names(),
    sender: (reply) =>
      isLogTarget(reply) ? logSender(replies(reply.gateway)) : deps.gateways().get(reply.gateway),
    async sent(reply, outcome) {
      metrics.sent(reply.gateway, outcome)
      if (outcome === 'sent') await transcript.replied(reply)
    },
    log,
    now,
  })
  const refs = createRefSubscriptions({
    store,
    owner,
    invoke: (ref, event, signal, rootId) =>
      deps.invoke(ref, event, { signal, rootId, caller: { kind: 'code', id: 'subscription' } }),
    log,
    now,
  })
  const events: Events = createEvents({ store, refs, now })
  const dispatch = createDispatch({
    store,
    owner,
    concurrency: deps.concurrency,
    routes: deps.routes,
    async invoke(dispatched) {
      const { message, route } = dispatched
      const { skill } = route
      if (dispatched.isFirst) await transcript.received(message)
      try {
        const result = await deps.invoke(skill, skillArgs(dispatched), {
          ...invokeOptions(dispatched),
          ...streaming(deps.gateways().get(message.gateway), dispatched),
          caller: deps.callerOf(message),
        })
        await transcript.processed(message, { skill, ok: true, approvalRequired: false })
        return result
      } catch (error) {
        const approvalRequired = error instanceof TriviumError && error.code === 'approval_pending'
        await transcript.processed(message, { skill, ok: false, error: reasonOf(error), approvalRequired })
        throw error
      }
    },
    ended: (message) =>
      void events.releaseOwn(message.id).catch((err) => log.warn({ err }, 'groups were left behind')),
    outbox,
    metrics: metrics.dispatch,
    log,
    now,
  })

  return {
    accept,
    replies,
    outbox,
    services: {
      events,
      receive: createReceive({ store, taken: metrics.taken }),
      send: createSend({ outbox, gateway: (name) => deps.gateways().spec(name), newKey: randomUUID }),
      messages: createMessages(store),
      deadLetters: createDeadLetters(store),
      gateways: { list: async () => deps.gateways().list() },
    },
    async start() {
      outbox.worker.start()
      dispatch.start()
      await refs.start()
    },
    /** Routes changed: what waited for a limit or a match may go on. */
    wake: dispatch.wake,
    /** Finishes or hands back what runs, within `left()` ms; replies that are due still go out. */
    async drain(left: () => number) {
      await accept.idle()
      const grace = left()
      await Promise.all([dispatch.stop(grace), refs.stop(grace)])
      await outbox.worker.stop(left())
    },
  }
}

/** The arguments of every dispatched skill; `sessionId` is the conversation. */
function skillArgs({ message, route }: Dispatch): Record<string, unknown> {
  return {
    ...route.args,
    text: message.text,
    from: message.from.address ?? message.from.id,
    ...(message.subject === undefined ? {} : { subject: message.subject }),
    message,
    route: route.name,
    sessionId: message.conversation,
  }
}

function invokeOptions({ message, route, sends, signal }: Dispatch): InvokeOptions {
  return {
    message,
    route: route.name,
    signal,
    timeout: route.timeout,
    trace: message.trace,
    rootId: message.id,
    sends,
    ...(route.model === undefined ? {} : { model: route.model }),
    ...(route.approval ? { approval: true } : {}),
    ...(isJsonObject(message.data.headers)
      ? { nonlocals: { request: { headers: message.data.headers } } }
      : {}),
  }
}

/** Lets the conversation see a model's answer grow, where the transport can show it. */
function streaming(
  transport: Transport | undefined,
  { message, route }: Dispatch,
): Pick<InvokeOptions, 'onText'> {
  if (!transport?.stream || route.reply === 'none') return {}
  const { id: inReplyTo, conversation, data } = message
  const target = isJsonObject(data.replyTarget) ? { target: data.replyTarget } : {}
  let text = ''
  return {
    onText(delta) {
      text += delta
      transport.stream?.({ conversation, inReplyTo, delta, text, ...target })
    },
  }
}
