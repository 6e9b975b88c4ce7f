import { z } from 'zod'
import { defined } from '../../src/lib/defined.ts'
import { isAddress } from './address.ts'
import { isOwn, isRobot, type OwnAddresses } from './inbound/automatic.ts'
import type { Mail, Mailbox } from './inbound/parse.ts'
import { header } from './mime/head.ts'
import { isThreadIndex } from './outbound/thread-index.ts'
import type { Identity } from './proof/claim.ts'

const recipientSchema = z.object({ name: z.string(), address: z.string() })

/** No person can read and answer a mail in less time. */
export const MIN_ANSWER_MS = 30_000

/**
 * Where a reply goes. It is derived from the inbound mail only and stored with the message, so a
 * reply needs no other data.
 */
export const replyTargetSchema = z.object({
  to: z.string(),
  name: z.string().exactOptional(),
  subject: z.string(),
  messageId: z.string().exactOptional(),
  /** The References of the reply, oldest first. */
  references: z.array(z.string()),
  /**
   * The other recipients, for replies to all: without this mailbox, and without addresses that may
   * not write here.
   */
  others: z.object({ to: z.array(recipientSchema), cc: z.array(recipientSchema) }).exactOptional(),
  /** The parts of an invitation that an answer needs. `attendee`: our address in it. */
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
  /** The Thread-Index header, by which Outlook groups mails. */
  threadIndex: z.string().exactOptional(),
  /** When the mail was written or received, whichever is earlier (Unix ms). */
  at: z.number(),
  /** The key of the mail's thread for the reply budget, independent of the conversation. */
  thread: z.string().exactOptional(),
  /** The mail answers ours so quickly that a robot may have written it. */
  quick: z.literal(true).exactOptional(),
  /** Why no reply may be sent. */
  suppress: z.string().exactOptional(),
})

export type ReplyTarget = z.output<typeof replyTargetSchema>

/** Facts about a mail. */
type Facts = {
  own: OwnAddresses
  /** Why the mail counts as automatic. */
  auto: string | undefined
  identity: Identity
  /** Whether an address may write to this gateway. */
  allowed(address: string): boolean
  /** Whether the mail is addressed to this mailbox, or need not be. */
  isAddressed: boolean
  /** Unix ms. */
  receivedAt: number
  now: number
  /** Maximum age (ms) of mail that is answered. */
  maxAge: number
}

/** Determines where a reply to this mail may go, and whether one may be sent at all. */
export function replyTarget(mail: Mail, facts: Facts): ReplyTarget {
  // Reply-To counts only if its address may write here and the proof of the sender covers the
  // header. Otherwise, answers could leak to anyone.
  const isUnsigned = facts.identity.unsigned?.includes('reply-to')
  const replyTo = isUnsigned
    ? undefined
    : mail.replyTo.find(({ address }) => isAddress(address) && facts.allowed(address))
  const recipient = replyTo ?? mail.from[0]
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

/**
 * Maximum number of other recipients in To, and in Cc. A mail with more is not a conversation
 * between people.
 */
const MAX_OTHERS = 50

/**
 * The recipients of a reply to all, besides `recipient`. Senders can write any addresses into To
 * and Cc, so this leaves out addresses that may not write here, addresses of machines, and headers
 * that the proof of the sender does not cover.
 */
function othersOf(mail: Mail, recipient: Mailbox | undefined, facts: Facts): ReplyTarget['others'] {
  const seen = new Set([recipient?.address])
  const othersIn = (header: 'to' | 'cc') =>
    mail[header]
      .filter(({ address }) => {
        const isOther =
          isAddress(address) &&
          !seen.has(address) &&
          !isOwn(address, facts.own) &&
          !isRobot(address) &&
          facts.allowed(address)
        seen.add(address)
        return isOther && !facts.identity.unsigned?.includes(header)
      })
      .slice(0, MAX_OTHERS)
      .map(({ name, address }) => ({ name, address }))
  const others = { to: othersIn('to'), cc: othersIn('cc') }
  return others.to.length + others.cc.length > 0 ? others : undefined
}

/** The invitation in a mail; undefined if there is none, or it cannot be answered. */
function invitationFor({ invitation, to }: Mail, { own }: Facts): ReplyTarget['calendar'] {
  const { method = 'REQUEST', uid, organiser, attendees = [] } = invitation ?? {}
  const attendee =
    attendees.find((each) => isOwn(each, own)) ?? to.find(({ address }) => isOwn(address, own))?.address
  if (method !== 'REQUEST' || !uid || !organiser || !attendee) return undefined
  const { summary, start, end, sequence, recurrenceId } = invitation ?? {}
  return { uid, organiser, attendee, ...defined({ summary, start, end, sequence, recurrenceId }) }
}

/** Why no reply may be sent; undefined if one may. */
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

/**
 * Whether a reply might reach someone who never wrote (backscatter): the domain asks to refuse such
 * mail, or its DNS did not answer.
 */
function isDoubtful({ result, by }: Identity): boolean {
  return result === 'fail' || result === 'temperror' || (result === 'none' && by === 'dmarc')
}
