import type { Caller } from '../core/call.ts'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isInternalSkill } from '../core/internal-skills.ts'
import type { Route } from '../core/route.ts'
import type { Note } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { createDispatch } from '../engine/dispatch.ts'
import type { Dispatch, Target } from '../engine/dispatch-options.ts'
import { HANDLED } from '../engine/dispatch-outcomes.ts'
import { DISPATCH_QUEUE } from '../engine/dispatch-queue.ts'
import { createLateAnswers } from '../engine/late-answers.ts'
import { OUTBOX_QUEUE } from '../engine/outbox.ts'
import { createOutboxWorker } from '../engine/outbox-worker.ts'
import { isLogTarget } from '../engine/submit.ts'
import { createSubscriptionRunner } from '../engine/subscription-runner.ts'
import { withoutLinks } from '../features/approvals/links.ts'
import { isDecision } from '../features/approvals/words.ts'
import { endGivenUp } from '../features/pauses/cancel.ts'
import { cancelError } from '../features/pauses/pauses.ts'
import { HANDOVER_CLICK } from '../features/pauses/records.ts'
import { SCHEDULE_OF } from '../features/schedules/schedule-runs.ts'
import { createTranscript, type Transcript } from '../features/transcript/transcript.ts'
import type { Voice } from '../features/voice/voice.ts'
import { defined } from '../lib/defined.ts'
import type { SkillManager } from '../runtime/manager.ts'
import type { RunRecords } from '../runtime/model/run-record.ts'
import { targetOf } from './answering.ts'
import type { Foundation } from './foundation.ts'
import type { Roads } from './roads.ts'

/** Maximum concurrent invocations and sends per process; routes may limit theirs further. */
const CONCURRENCY = 64

export type RoadWorkers = ReturnType<typeof createRoadWorkers>

type Parts = {
  roads: Roads
  manager: Pick<SkillManager, 'invoke'>
  runs: RunRecords
  /** Transcribes recordings. */
  voice: Voice
  /** Runs the target of a message's route. */
  answer: Target
}

/** The workers of the roads: dispatch, outbox, and skills invoked for events. */
export function createRoadWorkers(base: Foundation, parts: Parts) {
  const { gateways, logs, router, now } = base
  const transcript = createTranscript(logs, gateways.unanswerable, {
    skillOf: (reply) => skillOf(reply, router.routes()),
    shown: withoutLinks,
    now,
  })
  const replies = createReplyWorker(base, parts.roads, transcript)
  const dispatch = createDispatchWorker(base, parts, transcript)
  const subscriptions = createSubscriptionWorker(base, parts)
  const { accept, deliveries, groups, later, pauses } = parts.roads
  const records = [deliveries, groups.deliveries, groups.declared, pauses]
  const work = [dispatch, subscriptions, later]
  pauses.onCancel(({ messageId }, error) => dispatch.cancel(messageId, error))

  return {
    /** Starts what keeps the records of groups and pauses. */
    async prepare() {
      // Before the workers, so that paused work does not start.
      await pauses.prepare()
      for (const each of records) each.start()
    },
    /** Starts what runs skills and sends. */
    start() {
      for (const each of [replies, ...work]) each.start()
    },
    /** Creates the consumer groups of `topics:`. */
    useGroups: groups.declared.use,
    /** After a change of routes, waiting messages may continue. */
    wake: dispatch.wake,
    /** Running work with its start (Unix ms). */
    running: () => [
      ...dispatch.running().map(({ job: { message, lane, group }, ...times }) => {
        const { skill, timeoutAt } = (message && base.attempts.of(message.id)) ?? {}
        const gateway = message?.gateway ?? lane
        const more = defined({ messageId: message?.id, skill, timeoutAt })
        return { road: DISPATCH_QUEUE, gateway, route: group, ...times, ...more }
      }),
      ...replies.running().map(({ job: { group }, ...times }) => {
        return { road: OUTBOX_QUEUE, gateway: group, route: '', ...times }
      }),
    ],
    /** Finishes or releases running jobs within `timeLeft()` ms; due replies are still sent. */
    async drain(timeLeft: () => number) {
      await accept.idle()
      const grace = timeLeft()
      await Promise.all([...work, ...records].map((each) => each.stop(grace)))
      // Last, as the other workers add replies.
      await replies.stop(timeLeft())
      await transcript.flush()
    },
  }
}

/** The options that all workers share. */
function sharedBy({ store, log, now }: Foundation) {
  return { store, concurrency: CONCURRENCY, log, now }
}

function createReplyWorker(base: Foundation, roads: Roads, transcript: Transcript) {
  const { gateways, metrics, tracing, store, log, now } = base
  const recordLate = createLateAnswers(store, log, now)
  return createOutboxWorker({
    ...sharedBy(base),
    gateways: gateways.names,
    sender(reply) {
      const sender = isLogTarget(reply)
        ? { send: () => roads.replies(reply.gateway).append(reply.conversation, reply) }
        : gateways.get(reply.gateway)
      return sender && tracing ? tracing.sender(sender) : sender
    },
    async sent(reply, outcome, seconds) {
      metrics.sent(reply.gateway, outcome, seconds)
      if (outcome === 'sent' || outcome === 'dead') await recordLate(reply)
      if (outcome === 'sent') await transcript.replied(reply)
    },
  })
}

function createSubscriptionWorker(base: Foundation, { manager, roads }: Parts) {
  const { access, tracing } = base
  return createSubscriptionRunner({
    ...sharedBy(base),
    settings: roads.groups.settings,
    pauses: roads.pauses.ofRuns,
    invoke({ ref, event, by }, signal, rootId) {
      const caller: Caller =
        by.kind === 'route' ? access.callerAs(by.id) : { kind: 'code', id: 'subscription' }
      const run = () => manager.invoke(ref, event, { signal, rootId, caller })
      return tracing ? tracing.event(`process ${ref}`, event, run) : run()
    },
  })
}

function createDispatchWorker(base: Foundation, parts: Parts, transcript: Transcript) {
  const { gateways, router, metrics, tracing, log } = base
  const { roads, runs, answer } = parts
  const run = tracing ? tracing.process(answer) : answer
  return createDispatch({
    ...sharedBy(base),
    router,
    matched: base.routeTally.count,
    handled: (dispatched) =>
      dispatched.isAside ? undefined : handledByPerson(base, roads.pauses.view, dispatched),
    async invoke(dispatched) {
      const { message, route } = dispatched
      if (dispatched.isAside) return run(dispatched)
      const skill = targetOf(route)
      const writer = route.bolt === undefined ? transcript : transcript.batched
      if (dispatched.isFirst) {
        for (const one of dispatched.collected) await writer.received(one)
        await writer.received(message)
      }
      try {
        const result = await base.attempts.during(dispatched, () => run(dispatched))
        await writer.processed(message, { skill, ok: true, approval_required: false })
        return result
      } catch (error) {
        const approval_required = error instanceof TriviumError && error.code === 'approval_pending'
        await writer.processed(message, { skill, ok: false, error: reasonOf(error), approval_required })
        throw error
      }
    },
    isHeld: roads.pauses.view.holds,
    holdCall: roads.pauses.holdCall,
    heldFor: roads.pauses.view.heldFor,
    voice: parts.voice,
    mustNotMerge: isDecision,
    isUnordered: (route) => route === HANDOVER_CLICK,
    isUrgent: gateways.isUrgent,
    unrouted(messages) {
      for (const [gateway, { length }] of Map.groupBy(messages, (message) => message.gateway))
        base.unrouted.countUnrouted(gateway, length)
      return Promise.all(messages.flatMap((message) => transcript.received(message) ?? []))
    },
    steered: transcript.received,
    ended: (message) => void roads.events.releaseOwn(message.id),
    settled({ id }, { outcome, ran = false }) {
      if (outcome === 'dead' || outcome === 'done') void endGivenUp(roads.pauses, id, log)
      if (!ran) return runs.release(id)
      runs.end(id)?.catch((err) => log.warn({ messageId: id, err }, 'the record of a run was not removed'))
    },
    outbox: roads.outbox,
    clean: base.clean,
    metrics: metrics.dispatch,
  })
}

/**
 * The note for a message that needs no skill because a person has taken over its conversation.
 * Throws if the message was given up, or the run was cancelled on another daemon, from which this one
 * has taken over the job.
 */
function handledByPerson(
  { now }: Foundation,
  view: Roads['pauses']['view'],
  { message, route, attempt }: Dispatch,
): Note | undefined {
  const cancelled = view.cancelOf(message.id)
  if (cancelled && (attempt > 1 || cancelled.isGivenUp)) throw cancelError(cancelled)
  const pause = view.dropPauseOf(message)
  if (!pause || isInternalSkill(route.name)) return undefined
  const { by, since } = pause
  return { at: now(), road: 'dispatch', what: HANDLED, detail: { by, since } }
}

/** The skill that a reply comes from, if known. */
function skillOf({ by }: Reply, routes: readonly Route[]): string | undefined {
  if (by?.startsWith(SCHEDULE_OF)) return by.slice(SCHEDULE_OF.length)
  const route = routes.find(({ name }) => by === `route ${name}`)
  return route && targetOf(route)
}
