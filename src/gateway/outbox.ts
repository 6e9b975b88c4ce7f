import { z } from 'zod'
import { TriviumError, toTriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Attachment, Message } from '../core/message.ts'
import type { ClaimedJob, JobState, Note, Store } from '../core/store.ts'
import { type Receipt, type Reply, replySchema, SendPostponed, type Transport } from '../core/transport.ts'
import { backoff } from '../lib/backoff.ts'
import { waitFor } from '../lib/wait-for.ts'
import { attemptError, createWorker, type RunOutcome, type Worker } from './worker.ts'

const OUTBOX_QUEUE = 'outbox'

/** What is sent, besides where to. The same `key` is sent once within seven days. */
export type Sending = {
  key: string
  text: string
  subject?: string
  attachments?: Attachment[]
  data?: JsonObject
}

/** Sends, durably and once per key, exactly where a message came from. */
export type Outbox = {
  /** Resolves when the reply is durable in the outbox; `queued: false` means that the key was there already. */
  reply(message: Message, sending: Sending): Promise<{ id: string; queued: boolean }>
  /** Sends to an explicit target of a gateway. The caller has checked that the gateway is `open`. */
  sendTo(gateway: string, to: string, sending: Sending): Promise<{ id: string; queued: boolean }>
  /** Waits up to `timeout` ms for the end of a send. */
  wait(id: string, timeout: number, signal?: AbortSignal): Promise<JobState | undefined>
  worker: Worker
}

/** The sending half of a transport. */
export type Sender = Pick<Transport, 'send' | 'probe'>

export type OutboxOptions = {
  store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
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

export function createOutbox(options: OutboxOptions): Outbox {
  const { store, log, now } = options
  /** By gateway: when it was last told that replies wait long for their turn. */
  const toldOfTurns = new Map<string, number>()

  const add = async (reply: Reply) => {
    const id = `outbox:${reply.key}`
    const lane = `${reply.gateway}/${reply.to ?? reply.conversation}`
    const job = {
      id,
      lane,
      group: reply.gateway,
      data: toJson({ ...reply, queuedAt: now() }),
      notify: true,
      ...(reply.inReplyTo ? { messageId: reply.inReplyTo } : {}),
    }
    const [answer] = await store.jobs.add(OUTBOX_QUEUE, [job])
    return { id, queued: answer?.added ?? false }
  }

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
    const attempt = job.failures + job.lost + 1
    const error = attemptError(thrown, now())
    const ambiguous = thrown instanceof AmbiguousSend
    const permanent = thrown instanceof TriviumError && !thrown.retryable
    const fields = {
      gateway: reply.gateway,
      conversation: reply.conversation,
      messageId: reply.inReplyTo,
      attempt,
    }
    if (!ambiguous && !permanent && attempt < RETRY.attempts) {
      const delay = backoff(attempt, RETRY)
      void options.sent(reply, 'retry')
      log.warn({ ...fields, delay, err: toTriviumError(thrown) }, 'the reply was not sent; trying again')
      return { outcome: 'retry', delay, error, notes: [note('send failed', { error: error.message })] }
    }
    void options.sent(reply, 'dead')
    log.error({ ...fields, err: toTriviumError(thrown) }, 'the reply became a dead letter')
    const reason = ambiguous ? 'ambiguous' : permanent ? 'permanent' : 'attempts'
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

  return {
    reply: (message, sending) =>
      add({
        ...sending,
        gateway: message.gateway,
        conversation: message.conversation,
        inReplyTo: message.id,
        ...(isJsonObject(message.data.replyTarget) ? { target: message.data.replyTarget } : {}),
      }),
    sendTo: (gateway, to, sending) => add({ ...sending, gateway, to, conversation: to }),
    wait: (id, timeout, signal) =>
      waitFor<JobState>({
        async attempt() {
          const state = await store.jobs.state(OUTBOX_QUEUE, id)
          const ended = state?.state === 'done' || state?.state === 'dead'
          return ended ? { value: state } : { retryAt: undefined }
        },
        watch: (wake) => store.onSignal(`job:${id}`, wake),
        timeout,
        signal,
      }),
    worker: createWorker({
      queue: OUTBOX_QUEUE,
      store,
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
    }),
  }
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
  constructor(reply: Reply) {
    super('send_ambiguous', {
      gateway: reply.gateway,
      key: reply.key,
      reason: 'an earlier attempt was interrupted',
    })
  }
}
