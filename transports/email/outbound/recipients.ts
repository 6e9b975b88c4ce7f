import { TriviumError } from '../../../src/core/errors.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { requireAddress } from '../address.ts'
import { isOwn } from '../inbound/automatic.ts'
import type { EmailOptions } from '../options.ts'
import type { ReplyTarget } from '../reply-target.ts'

export type Recipient = { name: string; address: string }

/** Recipients of a mail; each address is in only one list. */
export type Recipients = { to: Recipient[]; cc: Recipient[]; bcc: Recipient[] }

/**
 * Maximum characters of a name. Servers refuse lines over 998 characters (RFC 5322, section 2.1.1).
 */
const MAX_NAME = 200
/** Servers must accept this many (RFC 5321, section 4.5.3.1.8). */
const MAX_RECIPIENTS = 100

/**
 * The recipients of a reply: those of the answered mail, or explicit ones, without our own
 * addresses and duplicates. Throws `send_rejected` if none is left, or if one is not a mail
 * address.
 */
export function recipientsOf(
  reply: Reply,
  target: ReplyTarget | undefined,
  options: EmailOptions,
): Recipients {
  const rejected = (reason: string) => new TriviumError('send_rejected', { gateway: reply.gateway, reason })
  if (reply.to === undefined && !target) throw rejected('its message is not a mail that can be answered')
  const others = reply.replyAll ? target?.others : undefined
  const own = new Set([options.address, ...options.aliases].map((each) => each.toLowerCase()))
  const seen = new Set<string>()
  /** A list without addresses that were added before and, unless `mayBeOwn`, without our own. */
  const addNew = (list: readonly Recipient[], mayBeOwn = false) =>
    list.filter(({ address }) => {
      requireAddress(reply.gateway, address)
      const key = address.toLowerCase()
      if (seen.has(key) || (!mayBeOwn && isOwn(key, own))) return false
      seen.add(key)
      return true
    })
  const mailboxes = (list: readonly string[] = []) => list.map((each) => ({ name: '', address: each.trim() }))
  const sender = target && { name: target.name?.slice(0, MAX_NAME) ?? '', address: target.to }
  const isSingle = reply.moreTo === undefined
  const to =
    reply.to === undefined
      ? [...addNew(sender ? [sender] : [], true), ...addNew(others?.to ?? [])]
      : addNew(mailboxes([reply.to, ...(reply.moreTo ?? [])]), isSingle)
  const cc = [...addNew(others?.cc ?? []), ...addNew(mailboxes(reply.cc))]
  const bcc = addNew(mailboxes(reply.bcc))
  if (to.length === 0) throw rejected('there is no recipient: all addresses in `to` belong to this mailbox')
  const count = to.length + cc.length + bcc.length
  if (count > MAX_RECIPIENTS)
    throw rejected(`it has ${count} recipients; at most ${MAX_RECIPIENTS} are allowed`)
  return { to, cc, bcc }
}
