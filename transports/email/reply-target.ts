import { z } from 'zod'
import { defined } from '../../src/lib/defined.ts'
import { isAddress } from './address.ts'
import { isOwn, isRobot, type OwnAddresses } from './inbound/automatic.ts'
import type { Mail, Mailbox } from './inbound/parse.ts'
import { header } from './mime/head.ts'
import { isThreadIndex } from './outbound/thread-index.ts'
import type { Identity } from './proof/claim.ts'

const recipientSchema = z.object({ name: z.string(), address: z.string() })

/** Where a reply goes: made from the inbound mail alone, it travels along, and nothing else is looked up to address one. */
export const replyTargetSchema = z.object({
  to: z.string(),
  name: z.string().exactOptional(),
  subject: z.string(),
  messageId: z.string().exactOptional(),
  /** The References of the reply, oldest first. */
  references: z.array(z.string()),
  /** Whom else it went to, for answers to all: never this mailbox, and nobody who may not write here. */
  others: z.object({ to: z.array(recipientSchema), cc: z.array(recipientSchema) }).exactOptional(),
  /** The invitation in the mail, as far as an answer needs it. `attendee`: as which address we are invited. */
  calendar: z
    .object({
      uid: z.string(),
      organiser: z.string(),
      attendee: z.string(),
      name: z.string().exactOptional(),
      summary: z.string().exactOptional(),
      start: z.string().exactOptional(),
      end: z.string().exactOptional(),
      sequence: z.number().exactOptional(),
      recurrenceId: z.string().exactOptional(),
    })
    .exactOptional(),
  /** By this Outlook threads. */
  threadIndex: z.string().exactOptional(),
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
  const asked = isOpen
    ? undefined
    : mail.replyTo.find(({ address }) => isAddress(address) && facts.allowed(address))
  const recipient = asked ?? mail.from[0]
  const at = Math.min(mail.date ?? facts.receivedAt, facts.receivedAt)
  const index = header(mail, 'thread-index')
  const references = [...new Set([...mail.references, ...(mail.messageId ? [mail.messageId] : [])])]
  return {
    to: recipient?.address ?? '',
    subject: mail.subject ?? '',
    references,
    at,
    ...defined({
      name: recipient?.name || undefined,
      messageId: mail.messageId,
      others: othersOf(mail, recipient, facts),
      calendar: invitationFor(mail, facts),
      threadIndex: isThreadIndex(index) ? index : undefined,
      suppress: suppression(recipient, at, facts),
    }),
  }
}

/** More are no conversation between people. */
const MAX_OTHERS = 50

/**
 * Whom an answer to all goes to besides `recipient`. Anybody may name anybody in To and Cc, so addresses that may not write
 * here get nothing, nor do machines, nor those in a header that the proof of the sender leaves open.
 */
function othersOf(mail: Mail, recipient: Mailbox | undefined, facts: Facts): ReplyTarget['others'] {
  const seen = new Set([recipient?.address])
  const take = (name: 'to' | 'cc') =>
    mail[name]
      .filter(({ address }) => {
        const isMeant =
          isAddress(address) &&
          !seen.has(address) &&
          !isOwn(address, facts.own) &&
          !isRobot(address) &&
          facts.allowed(address)
        seen.add(address)
        return isMeant && !facts.identity.unsigned?.includes(name)
      })
      .slice(0, MAX_OTHERS)
      .map(({ name: said, address }) => ({ name: said, address }))
  const others = { to: take('to'), cc: take('cc') }
  return others.to.length + others.cc.length > 0 ? others : undefined
}

/** Undefined for what is no invitation, and for one that nobody could tie an answer to. */
function invitationFor({ invitation, to }: Mail, { own }: Facts): ReplyTarget['calendar'] {
  const { method = 'REQUEST', uid, organiser, attendees = [] } = invitation ?? {}
  const attendee =
    attendees.find((each) => isOwn(each, own)) ?? to.find(({ address }) => isOwn(address, own))?.address
  if (method !== 'REQUEST' || !uid || !organiser || !attendee) return undefined
  const { summary, start, end, sequence, recurrenceId } = invitation ?? {}
  return { uid, organiser, attendee, ...defined({ summary, start, end, sequence, recurrenceId }) }
}

function suppression(recipient: Mailbox | undefined, at: number, facts: Facts): string | undefined {
  const { auto, own, identity, isAddressed, now, maxAge } = facts
  if (auto) return auto
  if (!recipient || !isAddress(recipient.address)) return 'no-sender'
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
