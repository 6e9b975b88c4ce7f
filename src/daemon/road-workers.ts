import type { Metrics } from '../control/metrics.ts'
import type { InvokeOptions } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Store } from '../core/store.ts'
import type { Transport } from '../core/transport.ts'
import { createDispatch, type Dispatch } from '../gateway/dispatch.ts'
import type { RunningGateways } from '../gateway/gateways.ts'
import { createOutboxWorker } from '../gateway/outbox-worker.ts'
import type { Router } from '../gateway/router.ts'
import { isLogTarget } from '../gateway/submit.ts'
import { createSubscriptionRunner } from '../gateway/subscriptions.ts'
import { defined } from '../lib/defined.ts'
import type { SkillManager } from '../skills/manager.ts'
import type { Access } from './access.ts'
import type { Roads } from './roads.ts'
import type { Transcript } from './transcript.ts'

/** What moves along on the roads by itself: dispatch, the sending of replies, and skills invoked for events. */
export function createRoadWorkers(deps: {
  store: Store
  concurrency: number
  router: Router
  gateways: RunningGateways
  roads: Roads
  manager: Pick<SkillManager, 'invoke'>
  access: Access
  transcript: Transcript
  metrics: Metrics
  log: Log
  now(): number
}) {
  const { store, concurrency, gateways, roads, manager, transcript, metrics, log, now } = deps
  const shared = { store, concurrency, log, now }

  const replies = createOutboxWorker({
    ...shared,
    gateways: gateways.names,
    sender(reply) {
      if (!isLogTarget(reply)) return gateways.get(reply.gateway)
      return { send: () => roads.replies(reply.gateway).append(reply.conversation, reply) }
    },
    async sent(reply, outcome) {
      metrics.sent(reply.gateway, outcome)
      if (outcome === 'sent') await transcript.replied(reply)
    },
  })
  const subscriptions = createSubscriptionRunner({
    ...shared,
    invoke({ ref, event, by }, signal, rootId) {
      const caller =
        by.kind === 'route' ? deps.access.callerAs(by.id) : { kind: 'code' as const, id: 'subscription' }
      return manager.invoke(ref, event, { signal, rootId, caller })
    },
  })
  const dispatch = createDispatch({
    ...shared,
    router: deps.router,
    async invoke(dispatched) {
      const { message, route } = dispatched
      const { skill } = route
      if (dispatched.isFirst) await transcript.received(message)
      try {
        const result = await manager.invoke(skill, skillArgs(dispatched), {
          ...invokeOptions(dispatched),
          ...streaming(gateways.get(message.gateway), dispatched),
          caller: deps.access.callerOf(message),
        })
        await transcript.processed(message, { skill, ok: true, approval_required: false })
        return result
      } catch (error) {
        const approval_required = error instanceof TriviumError && error.code === 'approval_pending'
        await transcript.processed(message, { skill, ok: false, error: reasonOf(error), approval_required })
        throw error
      }
    },
    unrouted: transcript.received,
    ended: (message) => void roads.events.releaseOwn(message.id),
    outbox: roads.outbox,
    metrics: metrics.dispatch,
  })

  return {
    start() {
      for (const each of [replies, dispatch, subscriptions]) each.start()
    },
    /** Routes changed: what waited for a limit or a match may go on. */
    wake: dispatch.wake,
    /** Finishes or hands back what runs, within `left()` ms; replies that are due still go out. */
    async drain(left: () => number) {
      await roads.accept.idle()
      const grace = left()
      await Promise.all([dispatch.stop(grace), subscriptions.stop(grace)])
      await replies.stop(left())
    },
  }
}

/** The arguments of every dispatched skill; `sessionId` is the conversation. */
function skillArgs({ message, route }: Dispatch): Record<string, unknown> {
  const { text, from, subject, conversation } = message
  return {
    ...route.args,
    text,
    from: from.address ?? from.id,
    ...(subject === undefined ? {} : { subject }),
    message,
    route: route.name,
    sessionId: conversation,
  }
}

function invokeOptions({ message, route, sends, signal }: Dispatch): InvokeOptions {
  const { headers } = message.data
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
    ...(isJsonObject(headers) ? { nonlocals: { request: { headers } } } : {}),
  }
}

/** Lets the conversation see a model's answer grow, where the transport can show it. */
function streaming(
  transport: Transport | undefined,
  { message, route }: Dispatch,
): Pick<InvokeOptions, 'onText'> {
  if (!transport?.stream || route.reply === 'none') return {}
  const { id: inReplyTo, conversation, data } = message
  const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
  let text = ''
  return {
    onText(delta) {
      text += delta
      transport.stream?.({ conversation, inReplyTo, delta, text, ...defined({ target }) })
    },
  }
}
