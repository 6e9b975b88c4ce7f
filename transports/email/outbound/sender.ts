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
  /** Absent where there is no mailbox that could have a folder with sent mail. */
  connect: ConnectImap | undefined
  submission: Submission
  sent: SentLog
  /** Called after each mail that went out. */
  onSent(): void
}

/** Sends replies: once per key, never to a machine, within the limits. */
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
    // Calendars send invitations by themselves, and expect an answer.
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
    // The outbox calls again when there is a place: who waits here keeps others from sending.
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
    // The same over attempts: with the Message-ID it is what a mail is known by.
    const at = before?.at ?? now()
    const known = before?.recipients ?? {}
    // Who has it already, or never will, gets nothing again.
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
    // As late as can be, so that a crash leaves in doubt only what a server may have. Not later: what comes back, a copy
    // or a bounce, may be here before the answer is.
    const beforeEnd = async () => {
      await sent.set(mark, { ...record, state: 'sending' })
      isNoted = true
    }
    const taken = await submission.send(await copy(), key, beforeEnd).catch(async (error) => {
      const code = error instanceof TriviumError ? error.code : ''
      // A server that permanently refuses one mail can be used, and so can one that asks to wait.
      trouble =
        error instanceof SendPostponed || code === 'send_rejected'
          ? undefined
          : `mail cannot be sent: ${reasonOf(error)}`
      // The others have it: these are the last, and are refused.
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
      // The mail is sent, also where the store is just away: thrown, this would look like an attempt that failed.
      log.warn({ mailId: messageId, reason: reasonOf(error) }, 'that a mail was sent could not be noted')
    }
    log.info({ messageId: inReplyTo, conversation, to, mailId: messageId }, 'mail was sent')
    try {
      await sentFolder?.keep(copy)
    } catch (error) {
      // The mail is sent; a copy that cannot be kept must not make it be sent again.
      log.error({ mailId: messageId, reason: reasonOf(error) }, 'the copy of a sent mail could not be kept')
    }
    return { id: messageId, data: defined({ response, recipients }) }
  }

  return {
    send,
    /** Why mail cannot be sent at present, for people. */
    trouble: () => trouble,
    /** To whom no automatic replies go at present, for people. */
    stopped: budget.stopped,
    probe: createProbe(parts, sentFolder),
  }
}

/** Makes what looks whether an earlier attempt sent a mail. */
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
    // A server that keeps the copies itself has none of what it never took. Our own copy comes after the send.
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

/** What became of each recipient: what was known, and what this attempt made of those that were open. */
function outcomesOf(known: Record<string, string>, open: readonly string[], refused: Taken['refused']) {
  const outcomes = { ...known }
  for (const address of open) {
    const refusal = refused.find((each) => each.address === address)
    if (!refusal) outcomes[address] = 'sent'
    else if (refusal.isPermanent) outcomes[address] = `refused: ${refusal.reason}`
  }
  return outcomes
}

/** The folder with what was sent. Each call uses a connection of its own: the reader's is busy waiting. */
function createSentFolder({ folder, copy }: NonNullable<EmailOptions['sent']>, connect: ConnectImap) {
  return {
    /** Whether a mail with this Message-ID is there. */
    async has(messageId: string): Promise<boolean> {
      using connection = await connect()
      await connection.run((client) => client.mailboxOpen(folder, { readOnly: true }))
      return (await connection.search({ header: { 'message-id': messageId } })).length > 0
    },
    /** Puts a copy there, where the server does not do so by itself. `compose` opens the files of the mail. */
    async keep(compose: () => Promise<SendMailOptions>): Promise<void> {
      if (copy === 'server') return
      const composer = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
      const { message } = await composer.sendMail(await compose())
      if (!Buffer.isBuffer(message)) throw new Error('the copy of a mail could not be made')
      using connection = await connect()
      const append = () => connection.run((client) => client.append(folder, message, ['\\Seen']))
      if (await append().catch(() => false)) return
      // The folder may be missing. Where it is not, making it fails, and says nothing of why.
      await connection.run((client) => client.mailboxCreate(folder)).catch(() => {})
      if (!(await append())) throw new Error(`the IMAP server refused a copy for ${folder}`)
    },
  }
}
