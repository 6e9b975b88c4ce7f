import type { SendMailOptions } from 'nodemailer'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type Receipt, type Reply, SendPostponed, type TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { fingerprintOf } from '../inbound/known-words.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import { calendarAnswer } from './calendar-answer.ts'
import { attachmentsOf, type Outgoing } from './compose.ts'
import type { SentFolder } from './sent-folder.ts'
import type { Submission, SubmissionResult } from './submission.ts'

type AttemptParts = {
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
  /** Outcomes of earlier attempts. */
  earlier: Outcomes
  /** The recipients without an outcome yet. */
  pending: string[]
  /** Opens the attachments each time. */
  compose(): Promise<SendMailOptions>
}

/** By recipient: `sent`, or `refused: ` and the reason. Others are still to be sent to. */
type Outcomes = Record<string, string>

/** Passes mails to the server, and records the outcomes. */
export function createSendAttempts(parts: AttemptParts, sentFolder: SentFolder | undefined) {
  const { deps, submission, sent } = parts
  const { log, gateway } = deps
  let trouble: string | undefined

  const submit = async ({ key, mark, record, pending, compose }: Attempt): Promise<SubmissionResult> => {
    let isRecorded = false
    // As late as possible: after a crash, the outcome is unknown only for mails that the server may
    // have. Not later, because a copy or a bounce may arrive before the response.
    const beforeEnd = async () => {
      await sent.set(mark, { ...record, state: 'sending' })
      isRecorded = true
    }
    return submission.send(await compose(), key, beforeEnd).catch(async (error) => {
      const code = error instanceof TriviumError ? error.code : ''
      // A server that refuses a single mail, or asks to wait, is still usable.
      const isUsable = error instanceof SendPostponed || code === 'send_rejected'
      trouble = isUsable ? undefined : `mail cannot be sent: ${reasonOf(error)}`
      // Earlier attempts reached the other recipients, so this is not a failure of the whole mail.
      if (code === 'send_rejected' && record.recipients) return refusedAll(pending, reasonOf(error))
      if (isRecorded && code !== 'send_ambiguous') await sent.set(mark, { ...record, state: 'refused' })
      throw error
    })
  }

  /** Records that some recipients have to wait. Throws `send_failed`: the outbox tries again. */
  const postpone = async (
    { key, mark, record }: Attempt,
    recipients: Outcomes,
    waiting: SubmissionResult['refused'],
  ) => {
    await sent.set(mark, { ...record, recipients, state: 'refused' })
    const reason = waiting.map((each) => `${each.address}: ${each.reason}`).join('; ')
    const { inReplyTo } = record
    if (inReplyTo) deps.note(inReplyTo, 'sent in part', { key, recipients, waiting: reason })
    throw new TriviumError('send_failed', { gateway, reason: `not yet accepted for ${reason}` })
  }

  /**
   * Records a sent mail, and stores its copy. Never rejects: a failure now must not look like a
   * failed attempt.
   */
  const recordSent = async (
    { mark, record, compose }: Attempt,
    mailId: string,
    result: Partial<SentRecord>,
  ) => {
    const { inReplyTo: messageId, conversation, to } = record
    await sent.set(mark, { ...record, ...result, state: 'sent' }).catch((error) => {
      log.warn({ mailId, reason: reasonOf(error) }, 'a mail was sent, but this could not be recorded')
    })
    log.info({ messageId, conversation, to, mailId }, 'mail was sent')
    await sentFolder?.storeCopy(compose).catch((error) => {
      log.error({ mailId, reason: reasonOf(error) }, 'a copy of a sent mail could not be stored')
    })
  }

  return {
    /** Describes why mail cannot be sent, if so. */
    trouble: () => trouble,
    /**
     * Tries to send a mail, to the recipients that do not have it yet. `before`: the record of
     * earlier attempts. Throws `send_rejected`, `send_failed`, `send_ambiguous` or SendPostponed.
     */
    async attempt(reply: Reply, outgoing: Outgoing, before: SentRecord | undefined): Promise<Receipt> {
      const { mark, messageId } = outgoing
      const attempt = attemptOf(reply, outgoing, before, deps)
      const { response, refused, messageId: alias } = await submit(attempt)
      trouble = undefined
      parts.onSent()
      if (alias) await sent.setAlias(alias, mark).catch(() => {})
      const recipients = outgoing.recipients.length > 1 ? outcomesOf(attempt, refused) : undefined
      const waiting = refused.filter(({ isPermanent }) => !isPermanent)
      if (recipients && waiting.length > 0) await postpone(attempt, recipients, waiting)
      await recordSent(attempt, messageId, defined({ response, recipients }))
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
  const earlier = before?.recipients ?? {}
  const pending = recipients.filter((each) => earlier[each] === undefined)
  const answer = invited && reply.calendar ? calendarAnswer(reply.calendar, invited, at) : undefined
  return {
    key,
    mark,
    record: defined({
      key,
      at,
      to,
      conversation,
      inReplyTo,
      thread: target?.thread,
      said: fingerprintOf(reply.text),
      recipients: before?.recipients,
    }),
    earlier,
    pending,
    compose: async () => ({
      ...mail,
      envelope: { ...mail.envelope, to: pending },
      date: new Date(at),
      ...defined({ icalEvent: answer }),
      attachments: await attachmentsOf(reply, artifacts),
    }),
  }
}

function refusedAll(addresses: readonly string[], reason: string): SubmissionResult {
  return {
    response: '',
    refused: addresses.map((address) => ({ address, reason, isPermanent: true })),
  }
}

/** The outcomes of earlier attempts and of this one. */
function outcomesOf({ earlier, pending }: Attempt, refused: SubmissionResult['refused']): Outcomes {
  const outcomes = { ...earlier }
  for (const address of pending) {
    const refusal = refused.find((each) => each.address === address)
    if (!refusal) outcomes[address] = 'sent'
    else if (refusal.isPermanent) outcomes[address] = `refused: ${refusal.reason}`
  }
  return outcomes
}
