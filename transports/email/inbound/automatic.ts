import { header, type Mail } from './parse.ts'

/** The addresses that are this mailbox, in lower case. */
export type OwnAddresses = ReadonlySet<string>

/**
 * Why a mail was written by a machine or for many (RFC 3834, section 2, and what servers add in practice), or
 * undefined for a person's own mail. Nothing that has a reason here is ever answered.
 */
export function automaticReason(mail: Mail, own: OwnAddresses): string | undefined {
  const [sender] = mail.from
  if (!sender) return 'no-sender'
  return (
    autoSubmitted(mail) ??
    precedence(mail) ??
    mailingList(mail) ??
    suppressed(mail) ??
    returnPath(mail) ??
    report(mail) ??
    (own.has(sender.address) ? 'own-address' : undefined) ??
    (severalSenders(mail) ? 'several-senders' : undefined) ??
    (isRobot(sender.address) ? 'robot-address' : undefined)
  )
}

/** True for a null return path (RFC 5321, section 4.5.5): what bounces come with. */
export function hasNullReturnPath(mail: Mail): boolean {
  return /^<\s*>$/.test(header(mail, 'return-path') ?? '')
}

/** The local parts that no person answers from; RFC 3834, section 2, names most of them. */
export function isRobot(address: string): boolean {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  return (
    [
      'mailer-daemon',
      'postmaster',
      'listserv',
      'majordomo',
      'bounce',
      'bounces',
      'noreply',
      'nobody',
    ].includes(local) ||
    /^(no|do-?not|dont)[-_.]?reply\b/.test(local) ||
    /^owner-|-(owner|request|bounces?)$/.test(local)
  )
}

function autoSubmitted(mail: Mail): string | undefined {
  const values = mail.headers.filter((each) => each.key === 'auto-submitted')
  // RFC 3834, section 5: everything but `no`, parameters and comments aside.
  const automatic = values.some(({ value }) => !/^\s*no\s*([;(]|$)/i.test(value))
  if (automatic) return 'auto-submitted'
  const legacy = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from', 'x-mail-autoreply']
  return legacy.some((name) => (header(mail, name) ?? 'no').toLowerCase() !== 'no')
    ? 'auto-submitted'
    : undefined
}

function precedence(mail: Mail): string | undefined {
  const values = mail.headers.filter(({ key }) => key === 'precedence' || key === 'x-precedence')
  return values.some(({ value }) => /^\s*(bulk|junk|list|auto[_-]reply)\b/i.test(value))
    ? 'precedence'
    : undefined
}

function mailingList(mail: Mail): string | undefined {
  return mail.headers.some(({ key }) => key.startsWith('list-') || key === 'mailing-list')
    ? 'list'
    : undefined
}

function suppressed(mail: Mail): string | undefined {
  const value = header(mail, 'x-auto-response-suppress') ?? ''
  // The other values (DR, RN, NRN) are about receipts only.
  return /\b(all|oof|autoreply)\b/i.test(value) ? 'x-auto-response-suppress' : undefined
}

function returnPath(mail: Mail): string | undefined {
  return hasNullReturnPath(mail) ? 'null-return-path' : undefined
}

/** Who it is from depends on who reads it, so nobody is answered. */
function severalSenders(mail: Mail): boolean {
  return mail.from.length > 1 || mail.headers.filter(({ key }) => key === 'from').length > 1
}

function report(mail: Mail): string | undefined {
  return /^\s*multipart\/report\b/i.test(header(mail, 'content-type') ?? '') ? 'report' : undefined
}
