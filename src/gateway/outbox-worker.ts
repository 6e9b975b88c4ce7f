import { z } from 'zod'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import { isJsonObject, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Note, Store } from '../core/store.ts'
import { type Receipt, type Reply, replySchema, SendPostponed, type Transport } from '../core/transport.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import {
  attemptError,
  attemptOf,
  createWorker,
  failedAttempt,
  type RunOutcome,
  type Worker,
} from './worker.ts'

/** The sending half of a transport. */
export type Sender = Pick<Transport, 'send' | 'probe'>

export type OutboxWorkerOptions = {
  store: Pick<Store, 'jobs' | 'onSignal'>
  owner: string
  concurrency: number
  /** The gateways that there are now. */
  gateways(): readonly string[]
  /** Who sends this reply; undefined while the gateway is not running. */
  sender(reply: Reply): Sender | undefined
  /** Called after each attempt, before its outcome is stored. */
  sent(reply: Reply, outcome: 'sent' | 'retry' | 'dead'): Promise<void> | void
  log: Log
  now(): number
}

/** A send is tried for about a day: 1 s, 2 s, 4 s, … up to an hour apart. */
const RETRY = { attempts: 32, first: 1000, longest: 3_600_000 }
const CLAIM_LEASE = 10_000
/** A gateway that is disabled or gone now may be back after a reload; until then its replies wait, for a day. */
const GATEWAY_AWAY = 30_000
const LONGEST_WAIT = 86_400_000
/** A reply that waits longer for its turn is told of, once in that time for its gateway. */
const LONG_TURN = 60_000

/** A reply as it lies in the outbox; `queuedAt` in Unix ms. */
const queuedSchema = replySchema.extend({ queuedAt: z.number().exactOptional() })

/** Hands what lies in the outbox to the transports, and looks before it repeats a send whose outcome is unknown. */
export function createOutboxWorker(options: OutboxWorkerOptions): Worker {
  const { log, now } = options
  /** By gateway: when it was last told that replies wait long for their turn. */
  const toldOfTurns = new Map<string, number>()

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { queuedAt, ...reply } = queuedSchema.parse(job.data)
    const transport = options.sender(reply)
    if (!transport) return waitForGateway(job, reply, queuedAt ?? now())
    let receipt: Receipt
    try {
      const found = await alreadySent(transport, job, reply)
      if (signal.aborted) throw signal.reason
      receipt = found ?? (await untilAborted(transport.send(reply), reply, signal))
    } catch (thrown) {
      if (thrown instanceof InterruptedSend) return interrupted(thrown)
      if (thrown instanceof SendPostponed) return postponed(reply, thrown, queuedAt ?? now())
      if (signal.aborted) throw thrown
      return failed(job, reply, thrown)
    }
    await options.sent(reply, 'sent')
    return { outcome: 'done', result: toJson({ receipt }), notes: [note('sent', receipt)] }
  }

  /** Whoever takes it up next looks first whether it arrived. */
  const interrupted = (thrown: InterruptedSend): RunOutcome => ({
    outcome: 'retry',
    delay: 0,
    error: attemptError(thrown, now()),
    notes: [note('send interrupted', { error: thrown.message })],
  })

  const postponed = ({ gateway, key }: Reply, { delay }: SendPostponed, queuedAt: number): RunOutcome => {
    const waited = now() - queuedAt
    const isLong = waited > LONG_TURN && now() - (toldOfTurns.get(gateway) ?? 0) > LONG_TURN
    if (isLong) toldOfTurns.set(gateway, now())
    log[isLong ? 'warn' : 'debug'](
      { gateway, key, delay, waited },
      'a reply waits for its turn under a rate limit',
    )
    return { outcome: 'release', delay }
  }

  /** Looks before sending again: only where an earlier attempt may have arrived without our knowing. */
  const alreadySent = async (
    transport: Sender,
    job: ClaimedJob,
    reply: Reply,
  ): Promise<Receipt | undefined> => {
    const unknown = job.lost > 0 || job.errors.some(({ code }) => code === 'send_ambiguous')
    if (!unknown || !transport.probe) return undefined
    const found = await transport.probe(reply)
    if (found.sent === true) return found.receipt
    if (found.sent === false) return undefined
    throw new AmbiguousSend(reply)
  }

  const failed = (job: ClaimedJob, reply: Reply, thrown: unknown): RunOutcome => {
    const outcome = failedAttempt(job, thrown, RETRY, now())
    const { gateway, conversation, inReplyTo: messageId } = reply
    const fields = { gateway, conversation, messageId, attempt: attemptOf(job), err: toTriviumError(thrown) }
    const { error } = outcome
    const ambiguous = thrown instanceof AmbiguousSend
    if (outcome.outcome === 'retry' && !ambiguous) {
      void options.sent(reply, 'retry')
      log.warn({ ...fields, delay: outcome.delay }, 'the reply was not sent; trying again')
      return { ...outcome, notes: [note('send failed', { error: error.message })] }
    }
    void options.sent(reply, 'dead')
    log.error(fields, 'the reply became a dead letter')
    const reason = ambiguous || outcome.outcome === 'retry' ? 'ambiguous' : outcome.reason
    return { outcome: 'dead', error, reason, notes: [note('dead', { error: error.message, reason })] }
  }

  const waitForGateway = (job: ClaimedJob, reply: Reply, queuedAt: number): RunOutcome => {
    if (now() - queuedAt < LONGEST_WAIT) return { outcome: 'release', delay: GATEWAY_AWAY }
    return failed(job, reply, new TriviumError('gateway_not_found', { name: reply.gateway, hint: '' }))
  }

  const note = (what: string, detail: unknown): Note => ({
    at: now(),
    road: 'outbox',
    what,
    ...(isJsonObject(detail) ? { detail } : {}),
  })

  return createWorker({
    queue: OUTBOX_QUEUE,
    store: options.store,
    owner: options.owner,
    concurrency: options.concurrency,
    // A server that hangs must leave places for the replies of other gateways.
    limits: () => {
      const share = Math.ceil(options.concurrency * 0.75)
      return new Map(options.gateways().map((name) => [name, share]))
    },
    lease: CLAIM_LEASE,
    run,
    log,
    now,
  })
}

/** Rejects once the signal aborts: a transport may hang for longer than a drain can wait. */
function untilAborted<T>(sending: Promise<T>, reply: Reply, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const interrupt = () => reject(new InterruptedSend(reply))
    signal.addEventListener('abort', interrupt, { once: true })
    sending.then(resolve, reject).finally(() => signal.removeEventListener('abort', interrupt))
  })
}

/** The send was left alone while it was under way. */
class InterruptedSend extends TriviumError {
  constructor({ gateway, key }: Reply) {
    super('send_ambiguous', { gateway, key, reason: 'it was interrupted before the answer came' })
  }
}

/** The outcome of an earlier attempt is unknown, and the transport cannot find out. */
class AmbiguousSend extends TriviumError {
  constructor({ gateway, key }: Reply) {
    super('send_ambiguous', { gateway, key, reason: 'an earlier attempt was interrupted' })
  }
}
