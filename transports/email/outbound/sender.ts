import nodemailer, { type SendMailOptions } from 'nodemailer'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import {
  type Probed,
  type Receipt,
  type Reply,
  SendPostponed,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import { fingerprintOf } from '../inbound/known-words.ts'
import type { ConnectImap } from '../mailbox/imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import type { ReplyTarget } from '../reply-target.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import { calendarAnswer } from './calendar-answer.ts'
import { attachmentsOf, compose, type Outgoing } from './compose.ts'
import { createReplyBudget, minutes } from './reply-budget.ts'
import type { Submission, Taken } from './submission.ts'

type SenderParts = {
  options: EmailOptions
  deps: TransportDeps
  /** Absent without a mailbox, and so without a folder of sent mail. */
  connect: ConnectImap | undefined
  submission: Submission
  sent: SentLog
  /** Called after each sent mail. */
  onSent(): void
}

/** Sends replies: once per key, never to machines, within the limits. */
export function createSender(parts: SenderParts) {
  const { options, deps, submission, sent, connect } = parts
  const { log, gateway, now } = deps
  const sentFolder = options.sent && connect && createSentFolder(options.sent, connect)
  const budget = createReplyBudget(options, deps)
  let trouble: string | undefined
  const takePlace = createTokenBucket(options['rate-limit'], now)

  const send = async (reply: Reply): Promise<Receipt> => {
    const outgoing = compose(reply, options)
    const { mark, messageId: id, to } = outgoing
    const before = await sent.get(mark)
    if (before?.state === 'sent')
      return { id, data: defined({ response: before.response ?? '', recipients: before.recipients }) }

    const { target } = outgoing
    const isOld = target && now() - target.at > options['reply-max-age']
    // Invitations are sent automatically, but expect an answer.
    const isExpected = outgoing.invited && target?.suppress === 'auto-submitted'
    const reason = (isExpected ? undefined : target?.suppress) ?? (isOld ? 'too-old' : undefined)
    if (reason) {
      deps.refused(`reply:${reason}`, { from: to, why: 'mail from there is not answered', body: reply.text })
      const fields = { messageId: reply.inReplyTo, to, reason }
      log.info(fields, 'the reply was not sent: this mail is not answered by itself')
      return { id, data: { suppressed: reason } }
    }
    if (target) await withinBudget(to, reply, target)
    const wait = takePlace()
    // The outbox calls again later, because waiting here would block other sends.
    if (wait > 0) throw new SendPostponed(wait)
    return handOver(reply, outgoing, before)
  }

  const withinBudget = async (to: string, reply: Reply, target: ReplyTarget) => {
    const { key, conversation, text } = reply
    const { thread = conversation, quick = false, at, subject } = target
    const stop = await budget.take({ key, to, subject, conversation, thread, at, quick })
    if (!stop) return
    const reason = `the budget of automatic replies ${stop.what} is used up for ${minutes(stop.wait)} (${stop.option}); retry it by hand if it is no loop`
    deps.refused('reply:budget', { from: to, why: reason, body: text })
    throw new TriviumError('send_rejected', { gateway, reason })
  }

  const handOver = async (
    reply: Reply,
    outgoing: Outgoing,
    before: SentRecord | undefined,
  ): Promise<Receipt> => {
    const { mark, messageId, to, target, mail } = outgoing
    const { key, conversation, inReplyTo } = reply
    // Stable over attempts, because date and Message-ID identify a mail.
    const at = before?.at ?? now()
    const known = before?.recipients ?? {}
    // Excludes recipients that already have it or permanently refused it.
    const open = outgoing.recipients.filter((each) => known[each] === undefined)
    const record = defined({
      ...{ key, at, to, conversation, inReplyTo, thread: target?.thread, said: fingerprintOf(reply.text) },
      recipients: before?.recipients,
    })
    const { invited } = outgoing
    const answer = invited && reply.calendar ? calendarAnswer(reply.calendar, invited, at) : undefined
    const copy = async () => ({
      ...mail,
      envelope: { ...mail.envelope, to: open },
      date: new Date(at),
      ...defined({ icalEvent: answer }),
      attachments: await attachmentsOf(reply, deps.artifacts),
    })
    let isNoted = false
    // As late as possible, so that a crash leaves only sends in doubt that the server may have. Not later, because a copy or a
    // bounce may arrive before the response.
    const beforeEnd = async () => {
      await sent.set(mark, { ...record, state: 'sending' })
      isNoted = true
    }
    const taken = await submission.send(await copy(), key, beforeEnd).catch(async (error) => {
      const code = error instanceof TriviumError ? error.code : ''
      // A server that refuses a single mail, or asks to wait, is still usable.
      trouble =
        error instanceof SendPostponed || code === 'send_rejected'
          ? undefined
          : `mail cannot be sent: ${reasonOf(error)}`
      // The other recipients already have it.
      if (code === 'send_rejected' && before?.recipients) return refusedAll(open, reasonOf(error))
      if (isNoted && code !== 'send_ambiguous') await sent.set(mark, { ...record, state: 'refused' })
      throw error
    })
    const { response, refused } = taken
    trouble = undefined
    parts.onSent()
    if (taken.messageId) await sent.setAlias(taken.messageId, mark).catch(() => {})
    const recipients = outgoing.recipients.length > 1 ? outcomesOf(known, open, refused) : undefined
    const waiting = refused.filter(({ isPermanent }) => !isPermanent)
    if (recipients && waiting.length > 0) {
      await sent.set(mark, { ...record, recipients, state: 'refused' })
      const reason = waiting.map((each) => `${each.address}: ${each.reason}`).join('; ')
      if (inReplyTo) deps.note(inReplyTo, 'sent in part', { key, recipients, waiting: reason })
      throw new TriviumError('send_failed', { gateway, reason: `not yet taken for ${reason}` })
    }
    try {
      await sent.set(mark, { ...record, ...defined({ recipients }), state: 'sent', response })
    } catch (error) {
      // The mail is sent, so a store failure must not look like a failed attempt.
      log.warn({ mailId: messageId, reason: reasonOf(error) }, 'that a mail was sent could not be noted')
    }
    log.info({ messageId: inReplyTo, conversation, to, mailId: messageId }, 'mail was sent')
    try {
      await sentFolder?.keep(copy)
    } catch (error) {
      // The mail is sent; a failed copy must not cause a retry.
      log.error({ mailId: messageId, reason: reasonOf(error) }, 'the copy of a sent mail could not be kept')
    }
    return { id: messageId, data: defined({ response, recipients }) }
  }

  return {
    send,
    /** Describes why mail cannot be sent, if so. */
    trouble: () => trouble,
    /** Describes correspondents who currently get no automatic replies. */
    stopped: budget.stopped,
    probe: createProbe(parts, sentFolder),
  }
}

/** Makes the probe for mails sent by earlier attempts. */
function createProbe(
  { options, submission, sent, deps }: SenderParts,
  sentFolder: ReturnType<typeof createSentFolder> | undefined,
) {
  return async (reply: Reply): Promise<Probed> => {
    const { mark, messageId } = compose(reply, options)
    const record = await sent.get(mark)
    if (!record || record.state === 'refused') return { sent: false }
    const isRepeatable = deps.now() - record.at < submission.repeatable
    if (record.state === 'sending' && isRepeatable) return { sent: false }
    if (record.state === 'sent' || (await sentFolder?.has(messageId)))
      return { sent: true, receipt: { id: messageId } }
    // A server that stores copies itself has none of a refused mail; our own copy is made after the send.
    if (options.sent?.copy === 'server') return { sent: false }
    const how = `look for ${messageId} in the log of your mail server, or ask ${record.to}`
    return { sent: 'unknown', how }
  }
}

function refusedAll(addresses: readonly string[], reason: string): Taken {
  return {
    response: '',
    refused: addresses.map((address) => ({ address, reason, isPermanent: true })),
  }
}

/** Outcome per recipient: earlier ones, and those of this attempt. */
function outcomesOf(known: Record<string, string>, open: readonly string[], refused: Taken['refused']) {
  const outcomes = { ...known }
  for (const address of open) {
    const refusal = refused.find((each) => each.address === address)
    if (!refusal) outcomes[address] = 'sent'
    else if (refusal.isPermanent) outcomes[address] = `refused: ${refusal.reason}`
  }
  return outcomes
}

/** The folder of sent mail. Each call opens a connection, as the reader's is busy with IDLE. */
function createSentFolder({ folder, copy }: NonNullable<EmailOptions['sent']>, connect: ConnectImap) {
  return {
    /** Whether it has a mail with this Message-ID. */
    async has(messageId: string): Promise<boolean> {
      using connection = await connect()
      await connection.run((client) => client.mailboxOpen(folder, { readOnly: true }))
      return (await connection.search({ header: { 'message-id': messageId } })).length > 0
    },
    /** Stores a copy, unless the server does. `compose` opens the attachments again. */
    async keep(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      using connection = await connect()
      const append = () => connection.run((client) => client.append(folder, message, ['\\Seen']))
      if (await append().catch(() => false)) return
      // Creates a missing folder; for an existing one this fails without harm.
      await connection.run((client) => client.mailboxCreate(folder)).catch(() => {})
      if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
    },
  }
}
