import type { SendMailOptions } from 'nodemailer'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type Receipt, type Reply, SendPostponed, type TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { fingerprintOf } from '../inbound/known-words.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import { calendarAnswer } from './calendar-answer.ts'
import { attachmentsOf, type Outgoing } from './compose.ts'
import type { SentFolder } from './sent-folder.ts'
import type { Submission, Taken } from './submission.ts'

type HandOverParts = {
  deps: TransportDeps
  submission: Submission
  sent: SentLog
  /** Called after each sent mail. */
  onSent(): void
}

/** One attempt to send a mail. */
type Attempt = {
  key: string
  mark: string
  record: Omit<SentRecord, 'state'>
  /** Outcome of earlier attempts by recipient. */
  known: Record<string, string>
  /** The recipients that neither have it nor permanently refused it. */
  open: string[]
  /** Opens the attachments each time. */
  compose(): Promise<SendMailOptions>
}

/** Hands mails over to the server, and records the outcomes. */
export function createHandOver(parts: HandOverParts, sentFolder: SentFolder | undefined) {
  const { deps, submission, sent } = parts
  const { log, gateway } = deps
  let trouble: string | undefined

  const submit = async ({ key, mark, record, open, compose }: Attempt): Promise<Taken> => {
    let isNoted = false
    // As late as possible, so that a crash leaves only sends in doubt that the server may have. Not later, because a copy or a
    // bounce may arrive before the response.
    const beforeEnd = async () => {
      await sent.set(mark, { ...record, state: 'sending' })
      isNoted = true
    }
    return submission.send(await compose(), key, beforeEnd).catch(async (error) => {
      const code = error instanceof TriviumError ? error.code : ''
      // A server that refuses a single mail, or asks to wait, is still usable.
      const isUsable = error instanceof SendPostponed || code === 'send_rejected'
      trouble = isUsable ? undefined : `mail cannot be sent: ${reasonOf(error)}`
      // The other recipients already have it.
      if (code === 'send_rejected' && record.recipients) return refusedAll(open, reasonOf(error))
      if (isNoted && code !== 'send_ambiguous') await sent.set(mark, { ...record, state: 'refused' })
      throw error
    })
  }

  /** Notes that some recipients have to wait, and throws `send_failed`, so that the outbox tries again. */
  const postpone = async (
    { key, mark, record }: Attempt,
    recipients: Outcomes,
    waiting: Taken['refused'],
  ) => {
    await sent.set(mark, { ...record, recipients, state: 'refused' })
    const reason = waiting.map((each) => `${each.address}: ${each.reason}`).join('; ')
    const { inReplyTo } = record
    if (inReplyTo) deps.note(inReplyTo, 'sent in part', { key, recipients, waiting: reason })
    throw new TriviumError('send_failed', { gateway, reason: `not yet accepted for ${reason}` })
  }

  /** The mail is sent: a failure from here on must not look like a failed attempt. */
  const conclude = async ({ mark, record, compose }: Attempt, mailId: string, taken: Partial<SentRecord>) => {
    const { inReplyTo: messageId, conversation, to } = record
    const unnoted = (error: unknown) =>
      log.warn({ mailId, reason: reasonOf(error) }, 'a mail was sent, but this could not be recorded')
    await sent.set(mark, { ...record, ...taken, state: 'sent' }).catch(unnoted)
    log.info({ messageId, conversation, to, mailId }, 'mail was sent')
    const unkept = (error: unknown) =>
      log.error({ mailId, reason: reasonOf(error) }, 'a copy of a sent mail could not be stored')
    await sentFolder?.keep(compose).catch(unkept)
  }

  return {
    /** Describes why mail cannot be sent, if so. */
    trouble: () => trouble,
    async handOver(reply: Reply, outgoing: Outgoing, before: SentRecord | undefined): Promise<Receipt> {
      const { mark, messageId } = outgoing
      const attempt = attemptOf(reply, outgoing, before, deps)
      const { response, refused, messageId: alias } = await submit(attempt)
      trouble = undefined
      parts.onSent()
      if (alias) await sent.setAlias(alias, mark).catch(() => {})
      const recipients = outgoing.recipients.length > 1 ? outcomesOf(attempt, refused) : undefined
      const waiting = refused.filter(({ isPermanent }) => !isPermanent)
      if (recipients && waiting.length > 0) await postpone(attempt, recipients, waiting)
      await conclude(attempt, messageId, defined({ response, recipients }))
      return { id: messageId, data: defined({ response, recipients }) }
    },
  }
}

function attemptOf(
  reply: Reply,
  { mark, to, target, mail, invited, recipients }: Outgoing,
  before: SentRecord | undefined,
  { artifacts, now }: TransportDeps,
): Attempt {
  const { key, conversation, inReplyTo } = reply
  // Stable over attempts, because date and Message-ID identify a mail.
  const at = before?.at ?? now()
  const known = before?.recipients ?? {}
  const open = recipients.filter((each) => known[each] === undefined)
  const answer = invited && reply.calendar ? calendarAnswer(reply.calendar, invited, at) : undefined
  return {
    key,
    mark,
    record: defined({
      ...{ key, at, to, conversation, inReplyTo, thread: target?.thread, said: fingerprintOf(reply.text) },
      recipients: before?.recipients,
    }),
    known,
    open,
    compose: async () => ({
      ...mail,
      envelope: { ...mail.envelope, to: open },
      date: new Date(at),
      ...defined({ icalEvent: answer }),
      attachments: await attachmentsOf(reply, artifacts),
    }),
  }
}

type Outcomes = Record<string, string>

function refusedAll(addresses: readonly string[], reason: string): Taken {
  return {
    response: '',
    refused: addresses.map((address) => ({ address, reason, isPermanent: true })),
  }
}

/** Outcome per recipient: earlier ones, and those of this attempt. */
function outcomesOf({ known, open }: Attempt, refused: Taken['refused']): Outcomes {
  const outcomes = { ...known }
  for (const address of open) {
    const refusal = refused.find((each) => each.address === address)
    if (!refusal) outcomes[address] = 'sent'
    else if (refusal.isPermanent) outcomes[address] = `refused: ${refusal.reason}`
  }
  return outcomes
}
