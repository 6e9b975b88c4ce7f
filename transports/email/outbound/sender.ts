import { setTimeout as pause } from 'node:timers/promises'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import {
  type Receipt,
  type Reply,
  SendPostponed,
  type Transport,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import type { EmailOptions } from '../options.ts'
import type { SentLog } from '../sent-log.ts'
import { compose, type Outgoing } from './compose.ts'
import { createBudget, createThrottle } from './limits.ts'
import type { SentFolder } from './sent-folder.ts'
import type { Smtp } from './smtp.ts'

export type Sender = Required<Pick<Transport, 'send' | 'probe'>>

/** A turn under a rate limit that comes within so many ms is waited for. */
const SHORT = 200

/** Sends replies: once per key, never to a machine, within the limits. */
export function createSender(parts: {
  options: EmailOptions
  deps: TransportDeps
  smtp: Smtp
  sent: SentLog
  sentFolder: SentFolder | undefined
}): Sender {
  const { options, deps, smtp, sent, sentFolder } = parts
  const { log, gateway, now } = deps
  const budget = createBudget(deps.kv, gateway, options['reply-budget'], now)
  const byGateway = createThrottle(options['rate-limit'], now)
  const byDomain = createThrottle(options['domain-rate-limit'], now)

  const send = async (reply: Reply): Promise<Receipt> => {
    const outgoing = compose(reply, options, deps.artifacts)
    const { mark, messageId, to } = outgoing
    const before = await sent.get(mark)
    if (before?.state === 'sent') return { id: messageId, data: { response: before.response ?? '' } }

    const silence = silenceFor(outgoing)
    if (silence) {
      deps.refused(`reply:${silence}`)
      log.info(
        { messageId: reply.inReplyTo, to, reason: silence },
        'the reply was not sent: this mail is not answered by itself',
      )
      return { id: messageId, data: { suppressed: silence } }
    }
    await withinBudget(reply, outgoing)
    await turn(to.slice(to.lastIndexOf('@') + 1).toLowerCase())
    return handOver(reply, outgoing, before?.at ?? now())
  }

  /** Why a reply may not be sent: the mail it answers is automatic, forged, or too old to be answered by itself. */
  const silenceFor = ({ target }: Outgoing): string | undefined => {
    if (!target) return undefined
    if (target.suppress) return target.suppress
    return now() - target.at > options['reply-max-age'] ? 'too-old' : undefined
  }

  const withinBudget = async (reply: Reply, { target, to }: Outgoing) => {
    if (!target) return
    const wait = await budget.take(to, reply.key)
    if (wait <= 0) return
    deps.refused('reply:budget')
    const minutes = Math.ceil(wait / 60_000)
    throw new TriviumError('send_rejected', {
      gateway,
      reason: `the budget of automatic replies to ${to} is used up for ${minutes} min (reply-budget); retry it by hand if it is no loop`,
    })
  }

  /** `at` stays the same over attempts: with the Message-ID it is what a mail is known by. */
  const handOver = async (
    reply: Reply,
    { mark, messageId, to, mail }: Outgoing,
    at: number,
  ): Promise<Receipt> => {
    const date = new Date(at)
    const record = {
      key: reply.key,
      at,
      to,
      conversation: reply.conversation,
      ...(reply.inReplyTo ? { inReplyTo: reply.inReplyTo } : {}),
    }
    // Before the hand-over: what comes back, a copy or a bounce, may be here before the answer is.
    await sent.set(mark, { ...record, state: 'sending' })
    const { response } = await smtp.send({ ...mail, date }, reply.key)
    await sent.set(mark, { ...record, state: 'sent', response })
    log.info(
      { messageId: reply.inReplyTo, conversation: reply.conversation, to, mailId: messageId },
      'mail was sent',
    )
    await keepCopy(reply, messageId, date)
    return { id: messageId, data: { response } }
  }

  /** The mail is sent; a copy that cannot be kept must not make it be sent again. */
  const keepCopy = async (reply: Reply, messageId: string, date: Date) => {
    if (!sentFolder) return
    try {
      await sentFolder.keep({ ...compose(reply, options, deps.artifacts).mail, date })
    } catch (error) {
      log.error({ mailId: messageId, reason: reasonOf(error) }, 'the copy of a sent mail could not be kept')
    }
  }

  /** The outbox calls again when the turn comes: who waits here keeps others from sending. */
  const turn = async (domain: string) => {
    const left = () => Math.max(byGateway.wait(gateway), byDomain.wait(domain))
    for (let wait = left(); wait > 0; wait = left()) {
      if (wait > SHORT) throw new SendPostponed(wait)
      await pause(wait)
    }
    byGateway.take(gateway)
    byDomain.take(domain)
  }

  return {
    send,
    async probe(reply) {
      const { mark, messageId } = compose(reply, options, deps.artifacts)
      const record = await sent.get(mark)
      if (!record) return { sent: false }
      if (record.state === 'sent') return { sent: true, receipt: { id: messageId } }
      if (!sentFolder) return { sent: 'unknown' }
      if (await sentFolder.has(messageId)) return { sent: true, receipt: { id: messageId } }
      // A server that keeps the copies itself has none of what it never took. Our own copy comes after the send.
      return options.sent?.copy === 'server' ? { sent: false } : { sent: 'unknown' }
    },
  }
}
