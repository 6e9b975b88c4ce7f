import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { type Json, pathGet, toJson } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Store } from '../core/store.ts'
import { type Receipt, type Reply, replySchema, SendPostponed, type Transport } from '../core/transport.ts'
import { inTime } from '../lib/pause.ts'
import { putLast } from '../lib/put-last.ts'
import type { RunOutcome } from './attempts.ts'
import { answerOf, OUTBOX_QUEUE, outboxNote } from './outbox.ts'
import { createOutboxFailures, fieldsOf, isUncertain } from './outbox-failures.ts'
import { createWorker } from './worker.ts'

/** The sending half of a transport. */
export type Sender = Pick<Transport, 'send' | 'probe' | 'requireTarget'>

export type OutboxWorkerOptions = {
  store: Pick<Store, 'jobs' | 'onSignal' | 'awayAt'>
  concurrency: number
  gateways(): readonly string[]
  /** The transport for a reply; undefined while the gateway is not running. */
  sender(reply: Reply): Sender | undefined
  /**
   * Called after each attempt, before its outcome is stored. `seconds`: for a success, the duration
   * of the attempt and the time since the reply was queued.
   */
  sent(
    reply: Reply,
    outcome: 'sent' | 'suppressed' | 'retry' | 'dead',
    seconds?: { attempt: number; total: number },
  ): Promise<void> | void
  log: Log
  now(): number
}

/** Pause (ms) of a reply whose gateway is disabled or removed: a reload may bring it back. */
const GATEWAY_AWAY = 30_000
/** How long (ms) a reply waits for its gateway. */
const LONGEST_WAIT = 86_400_000
/** Maximum number of send receipts in memory. */
const MOST_RECEIPTS = 10_000

/** A reply in the outbox; `queuedAt` in Unix ms. */
const queuedSchema = replySchema.extend({ queuedAt: z.number().exactOptional() })

/**
 * Passes the replies in the outbox to the transports. Before it repeats a send with an unknown
 * outcome, it probes whether the reply arrived.
 * A store that lost its last writes may return replies that were already sent: this process
 * remembers its own sends, and probes for older ones.
 */
export function createOutboxWorker(options: OutboxWorkerOptions) {
  const { log, now } = options
  const { failed, uncertain } = createOutboxFailures(options)
  const sentHere = new Map<string, Receipt>()

  const run = async (job: ClaimedJob, signal: AbortSignal): Promise<RunOutcome> => {
    const { queuedAt, ...reply } = queuedSchema.parse(job.data)
    const transport = options.sender(reply)
    if (!transport) {
      if (now() - (queuedAt ?? now()) < LONGEST_WAIT) return { outcome: 'release', delay: GATEWAY_AWAY }
      return failed(job, reply, new TriviumError('gateway_not_found', { name: reply.gateway, hint: '' }))
    }
    // A transport without a probe sends into the store. If the store loses the outcome of a send,
    // it also loses what was sent, so the reply has to be sent again.
    const known = transport.probe && sentHere.get(job.id)
    let receipt = known
    const began = now()
    try {
      if (!known && transport.probe && (isUncertain(job) || (queuedAt ?? 0) < options.store.awayAt())) {
        const found = await inTime(transport.probe(reply), signal)
        if (!found) return { outcome: 'release' }
        if (found.sent === true) receipt = found.receipt
        else if (found.sent === 'unknown' && isUncertain(job)) {
          // An operator must decide.
          return uncertain(job, reply, found.how ?? 'check whether it arrived')
        }
      }
      if (signal.aborted) return { outcome: 'release' }
      // A transport may hang longer than a drain can wait.
      receipt ??= await inTime(handOver(transport, reply), signal)
      // The next attempt first checks whether the reply arrived.
      if (!receipt) return uncertain(job, reply)
    } catch (thrown) {
      if (thrown instanceof SendPostponed) {
        log.debug(fieldsOf(job, reply, thrown), 'a reply waits for its turn under a rate limit')
        return { outcome: 'release', delay: thrown.delay }
      }
      if (signal.aborted) throw thrown
      return failed(job, reply, thrown)
    }
    if (transport.probe) putLast(sentHere, job.id, receipt, MOST_RECEIPTS)
    const seconds = { attempt: (now() - began) / 1000, total: (now() - (queuedAt ?? began)) / 1000 }
    const reason = suppressedIn(receipt)
    if (!known) await options.sent(reply, reason === undefined ? 'sent' : 'suppressed', seconds)
    const note =
      reason === undefined
        ? outboxNote(now(), 'sent', { ...answerOf(reply), ...receipt })
        : outboxNote(now(), 'suppressed', { ...answerOf(reply), reason })
    return { outcome: 'done', result: toJson({ receipt }), notes: [note] }
  }

  // A hanging server must leave slots for the replies of other gateways.
  const share = Math.ceil(options.concurrency * 0.75)
  return createWorker({
    queue: OUTBOX_QUEUE,
    store: options.store,
    concurrency: options.concurrency,
    limits: () => new Map(options.gateways().map((name) => [name, share])),
    run,
    log,
    now,
  })
}

/**
 * Checks the target first: not every caller does, and the send would create a missing conversation.
 */
async function handOver(transport: Sender, reply: Reply): Promise<Receipt> {
  if (reply.to !== undefined) await transport.requireTarget?.(reply.to)
  return transport.send(reply)
}

/** Why the transport suppressed a reply: `data.suppressed` of its receipt. */
export function suppressedIn(receipt: Json | undefined): string | undefined {
  const reason = pathGet(receipt, 'data.suppressed')
  return typeof reason === 'string' ? reason : undefined
}
