import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { HandOverHost } from '../host.ts'
import type { EmailOptions } from '../options.ts'
import { marksIn, type SentLog } from '../sent-log.ts'
import { automaticReason } from './automatic.ts'
import type { createConversations } from './conversation.ts'
import type { Incoming, Ingested } from './incoming.ts'
import { kindOfMail } from './subject.ts'

/** How long a handled mail is remembered, in case the folder is read again. */
const MARK_TTL_MS = 60 * DAY

/**
 * Creates the reader of the folder for sent mail. An answer there that this gateway did not send
 * was written by a person, who has thereby taken over the conversation. Other mail in the folder is
 * ignored, and the folder is not changed.
 */
export function createHumanReplies(parts: {
  handover: NonNullable<EmailOptions['handover']>
  own: ReadonlySet<string>
  deps: TransportDeps & HandOverHost
  sent: SentLog
  findConversation: ReturnType<typeof createConversations>
}) {
  const { handover, own, deps, sent, findConversation } = parts
  const { kv, gateway, log } = deps

  const takeOverIfAnswered = async ({ mail }: Incoming): Promise<void> => {
    const { messageId: id = '', inReplyTo, references } = mail
    if (id === '' || (inReplyTo === undefined && references.length === 0)) return
    if (kindOfMail(mail) !== 'reply' || marksIn(id).length > 0 || (await sent.byMessageId(id))) return
    const auto = automaticReason(mail, own)
    if (auto !== undefined && auto !== 'own-address') return
    const handledKey = `email/${gateway}/human-reply/${id}`
    if (await kv.get(handledKey)) return
    const identity = { result: 'none' as const, by: 'sent', detail: 'it is in the folder with sent mail' }
    const { conversation, remember, forget } = await findConversation(mail, identity)
    const by = `${gateway}:${mail.from[0]?.address ?? 'a person'}`
    const duration = handover.for === 'resume' ? undefined : handover.for
    const pause = { by, reason: 'a person answered', drop: handover.drop, ...defined({ for: duration }) }
    const isKnown = await deps.takeOver({ conversation, ...pause })
    if (!isKnown) return forget()
    // Answers to the person belong to the same conversation.
    await Promise.all([remember(), kv.set(handledKey, true, { ttl: MARK_TTL_MS })])
    log.info({ conversation, by, mailId: id }, 'a person answered and has taken over the conversation')
  }

  return async (batch: readonly Incoming[]): Promise<Ingested[]> => {
    // In order, because an answer may refer to an earlier one. If one fails, the folder is read
    // again from there.
    for (const mail of batch) await takeOverIfAnswered(mail)
    return batch.map(() => ({ outcome: 'own' }))
  }
}
