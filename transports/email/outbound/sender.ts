import { TriviumError } from '../../../src/core/errors.ts'
import {
  type Probed,
  type Receipt,
  type Reply,
  SendPostponed,
  type TransportDeps,
} from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createTokenBucket } from '../../../src/lib/token-bucket.ts'
import type { ConnectImap } from '../mailbox/imap-connection.ts'
import type { EmailOptions } from '../options.ts'
import type { SentLog } from '../sent-log.ts'
import { compose, type Outgoing } from './compose.ts'
import { createReplyBudget, minutes } from './reply-budget.ts'
import { createSendAttempts } from './send-attempt.ts'
import { createSentFolder, type SentFolder } from './sent-folder.ts'
import type { Submission } from './submission.ts'

type SenderParts = {
  options: EmailOptions
  deps: TransportDeps
  /** Undefined without a mailbox: then there is no folder of sent mail either. */
  connect: ConnectImap | undefined
  submission: Submission
  sent: SentLog
  /** Called after each sent mail. */
  onSent(): void
}

/** Sends replies: once per key, never to machines, within the limits. */
export function createSender(parts: SenderParts) {
  const { options, deps, sent, connect } = parts
  const sentFolder = options.sent && connect && createSentFolder(options.sent, connect)
  const { attempt, trouble } = createSendAttempts(parts, sentFolder)
  const budget = createReplyBudget(options, deps)
  const takeToken = createTokenBucket(options['rate-limit'], deps.now)

  return {
    async send(reply: Reply): Promise<Receipt> {
      const outgoing = compose(reply, options)
      const { mark, messageId: id, to } = outgoing
      const before = await sent.get(mark)
      if (before?.state === 'sent')
        return { id, data: defined({ response: before.response ?? '', recipients: before.recipients }) }
      const reason = suppressedBy(outgoing, deps.now() - options['reply-max-age'])
      if (reason) {
        deps.refused(`reply:${reason}`, {
          from: to,
          why: 'such mail gets no automatic reply',
          body: reply.text,
        })
        const fields = { messageId: reply.inReplyTo, to, reason }
        deps.log.info(fields, 'the reply was not sent: such mail gets no automatic reply')
        return { id, data: { suppressed: reason } }
      }
      await requireBudget(reply, outgoing, budget, deps)
      const wait = takeToken()
      // The outbox calls again later, because waiting here would block other sends.
      if (wait > 0) throw new SendPostponed(wait)
      return attempt(reply, outgoing, before)
    },
    /** Describes why mail cannot be sent, if so. */
    trouble,
    /** Describes correspondents who currently get no automatic replies. */
    exhaustedBudgets: budget.exhausted,
    probe: createProbe(parts, sentFolder),
  }
}

/**
 * Why a mail gets no automatic answer. `oldest`: the time of the oldest mail that is still answered
 * (Unix ms).
 */
function suppressedBy({ target, invited }: Outgoing, oldest: number): string | undefined {
  // Invitations are sent automatically, but expect an answer.
  const isExpected = invited && target?.suppress === 'auto-submitted'
  if (target?.suppress && !isExpected) return target.suppress
  return target && target.at < oldest ? 'too-old' : undefined
}

/** Throws `send_rejected` if too many automatic replies went to this correspondent. */
async function requireBudget(
  { key, conversation, text }: Reply,
  { to, target }: Outgoing,
  budget: ReturnType<typeof createReplyBudget>,
  { gateway, refused }: TransportDeps,
): Promise<void> {
  if (!target) return
  const { thread = conversation, quick = false, at, subject } = target
  const exhausted = await budget.take({ key, to, subject, conversation, thread, at, quick })
  if (!exhausted) return
  const { what, wait, option } = exhausted
  const reason = `the budget of automatic replies ${what} is used up for ${minutes(wait)} (${option}); retry the dead letter if this is not a mail loop`
  refused('reply:budget', { from: to, why: reason, body: text })
  throw new TriviumError('send_rejected', { gateway, reason })
}

/** Creates the probe that finds out whether an earlier attempt sent a mail. */
function createProbe({ options, submission, sent, deps }: SenderParts, sentFolder: SentFolder | undefined) {
  return async (reply: Reply): Promise<Probed> => {
    const { mark, messageId } = compose(reply, options)
    const record = await sent.get(mark)
    if (!record || record.state === 'refused') return { sent: false }
    // Sending it again within this time has no effect if the provider has it.
    const isRepeatable = deps.now() - record.at < submission.repeatableMs
    if (record.state === 'sending' && isRepeatable) return { sent: false }
    if (record.state === 'sent') return { sent: true, receipt: { id: messageId } }
    // A copy of a mail that was sent in part may be from an earlier attempt.
    if (record.recipients === undefined) {
      if (await sentFolder?.has(messageId)) return { sent: true, receipt: { id: messageId } }
      // If the server stores the copies, there would be one. Our own copy is stored only after the
      // send.
      if (options.sent?.copy === 'server') return { sent: false }
    }
    const how = `search for ${messageId} in the log of your mail server, or ask ${record.to}`
    return { sent: 'unknown', how }
  }
}
