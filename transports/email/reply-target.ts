import { z } from 'zod'
import { defined } from '../../src/lib/defined.ts'
import { isOwn, isRobot, type OwnAddresses } from './inbound/automatic.ts'
import type { Mail, Mailbox } from './inbound/parse.ts'
import type { Identity } from './proof/claim.ts'

/** Where a reply goes: made from the inbound mail alone, it travels along, and nothing else is looked up to address one. */
export const replyTargetSchema = z.object({
  to: z.string(),
  name: z.string().exactOptional(),
  subject: z.string(),
  messageId: z.string().exactOptional(),
  /** The References of the reply, oldest first. */
  references: z.array(z.string()),
  /** When the mail was written or received, whichever is earlier (Unix ms). */
  at: z.number(),
  /** What its thread is counted by, whatever conversation it is in. */
  thread: z.string().exactOptional(),
  /** It came so soon after a mail of ours which it answers that a robot may have written it. */
  quick: z.literal(true).exactOptional(),
  /** Why no reply may be sent. */
  suppress: z.string().exactOptional(),
})

export type ReplyTarget = z.output<typeof replyTargetSchema>

/** `auto`: why the mail is automatic. `allowed`: whether somebody may write to this gateway. */
type Facts = {
  own: OwnAddresses
  auto: string | undefined
  identity: Identity
  allowed(address: string): boolean
  isAddressed: boolean
  receivedAt: number
  now: number
  /** Older mail gets no answer (ms). */
  maxAge: number
}

/** Works out where a reply to this mail may go, and whether one may be sent at all. */
export function replyTarget(mail: Mail, facts: Facts): ReplyTarget {
  // Reply-To, where it leads to somebody who may write here too: otherwise it would leak answers to anyone. One that
  // anybody may have added to a mail that is proven would do the same.
  const isOpen = facts.identity.unsigned?.includes('reply-to')
  const asked = isOpen ? undefined : mail.replyTo.find((each) => facts.allowed(each.address))
  const recipient = asked ?? mail.from[0]
  const at = Math.min(mail.date ?? facts.receivedAt, facts.receivedAt)
  const references = [...new Set([...mail.references, ...(mail.messageId ? [mail.messageId] : [])])]
  return {
    to: recipient?.address ?? '',
    subject: mail.subject ?? '',
    references,
    at,
    ...defined({
      name: recipient?.name || undefined,
      messageId: mail.messageId,
      suppress: suppression(recipient, at, facts),
    }),
  }
}

function suppression(recipient: Mailbox | undefined, at: number, facts: Facts): string | undefined {
  const { auto, own, identity, isAddressed, now, maxAge } = facts
  if (auto) return auto
  if (!recipient) return 'no-sender'
  if (isOwn(recipient.address, own)) return 'own-address'
  if (isRobot(recipient.address)) return 'robot-address'
  if (isDoubtful(identity)) return 'unauthenticated'
  if (now - at > maxAge) return 'too-old'
  return isAddressed ? undefined : 'not-addressed'
}

/** An answer might reach somebody who never asked (backscatter): its domain has such mail refused, or could not be asked. */
function isDoubtful({ result, by }: Identity): boolean {
  return result === 'fail' || result === 'temperror' || (result === 'none' && by === 'dmarc')
}
