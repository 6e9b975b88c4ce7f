import type { ReplyTarget } from '../reply-target.ts'
import { isRobot, type OwnAddresses } from './automatic.ts'
import type { Identity } from './identity.ts'
import type { Mail, Mailbox } from './parse.ts'

/** RFC 5322 sets no limit; mail servers do. The root and the newest are what clients thread by. */
const MAX_REFERENCES = 30

/** Works out where a reply to this mail may go, and whether one may be sent at all. */
export function replyTarget(
  mail: Mail,
  facts: {
    own: OwnAddresses
    auto: string | undefined
    identity: Identity
    /** True for addresses that may write to this gateway. */
    allowed(address: string): boolean
    receivedAt: number
    now: number
    /** Older mail gets no answer (ms). */
    maxAge: number
  },
): ReplyTarget {
  const recipient = recipientOf(mail, facts)
  const at = Math.min(mail.date ?? facts.receivedAt, facts.receivedAt)
  const isTooOld = facts.now - at > facts.maxAge
  const suppress = suppression(recipient, facts) ?? (isTooOld ? 'too-old' : undefined)
  const references = [...new Set([...mail.references, ...(mail.messageId ? [mail.messageId] : [])])]
  return {
    to: recipient?.address ?? '',
    ...(recipient?.name ? { name: recipient.name } : {}),
    subject: mail.subject ?? '',
    ...(mail.messageId ? { messageId: mail.messageId } : {}),
    references:
      references.length > MAX_REFERENCES
        ? [...references.slice(0, 1), ...references.slice(1 - MAX_REFERENCES)]
        : references,
    at,
    ...(suppress ? { suppress } : {}),
  }
}

/**
 * Reply-To, where it leads to somebody who may write here too: otherwise it would leak answers to anyone. One that
 * anybody may have added to a mail that is proven would do the same.
 */
function recipientOf(
  mail: Mail,
  { allowed, identity }: { allowed(address: string): boolean; identity: Identity },
): Mailbox | undefined {
  const asked = identity.unsigned?.includes('reply-to')
    ? undefined
    : mail.replyTo.find((each) => allowed(each.address))
  return asked ?? mail.from[0]
}

function suppression(
  recipient: Mailbox | undefined,
  facts: { own: OwnAddresses; auto: string | undefined; identity: Identity },
): string | undefined {
  if (facts.auto) return facts.auto
  if (!recipient) return 'no-sender'
  if (facts.own.has(recipient.address)) return 'own-address'
  if (isRobot(recipient.address)) return 'robot-address'
  return isDoubtful(facts.identity) ? 'unauthenticated' : undefined
}

/** An answer might reach somebody who never asked (backscatter): its domain has such mail refused, or could not be asked. */
function isDoubtful({ result, by }: Identity): boolean {
  return result === 'fail' || result === 'temperror' || (result === 'none' && by === 'dmarc')
}
