import type { Mail } from './parse.ts'

/** Whether a mail answers or forwards another one, or starts a thread. */
export type MailKind = 'reply' | 'forward' | 'first'

/**
 * The kind of a mail. A forward also refers to its original, so the subject is checked before the
 * headers.
 */
export function kindOfMail(mail: Pick<Mail, 'subject' | 'inReplyTo' | 'references'>): MailKind {
  const prefix = prefixOf(mail.subject)
  if (prefix === 'forward') return prefix
  const refers = mail.inReplyTo !== undefined || mail.references.length > 0
  return refers || (prefix && !AMBIGUOUS.test(mail.subject ?? '')) ? 'reply' : 'first'
}

const REPLY =
  're|aw|antw|antwort|sv|svar|vs|ref|réf|rif|res|odp|ynt|yan|cev|vá|válasz|atb|bls|balas|απ|σχετ|отв|ответ|' +
  'на|ha|відп|trả lời|回复|回覆|答复|答覆|返信|회신|답장|השב|תשובה|תגובה|رد'
const FORWARD =
  'fwd?|wg|tr|rv|enc|pd|vb|vl|doorst|İlt|ilt|továbbítás|továbbította|fs|trs|redir\\.?|videresend|videresendt|' +
  'vidarebefordrat|weitergeleitet|προωθ|πρθ|пересл|пер|转发|轉寄|轉發|転送|전달|הועבר|העברה|إعادة توجيه'
/** A number of replies, as in `Re[2]:`, and the colon. */
const COUNT = '\\s{0,3}(?:\\[\\d{1,3}\\]|\\(\\d{1,3}\\))?\\s{0,3}[:：]\\s*'
/** Tags of ticket systems and mail filters: `[EXT] Re: …`. */
const TAGS = '^\\s*(?:\\[[^[\\]]{1,40}\\]\\s*){0,3}'

/** Outlook in Italian uses single capital letters; lower case could be a word of the subject. */
const forwards = [regExpOf(FORWARD, 'iu'), regExpOf('I', 'u')]
const prefixes = [regExpOf(REPLY, 'iu'), regExpOf('R', 'u'), ...forwards]

function regExpOf(words: string, flags: string): RegExp {
  return new RegExp(`(?<tags>${TAGS})(?:${words})\\.?${COUNT}`, flags)
}

/** Prefixes that can also be words of a subject; alone they do not mark an answer. */
const AMBIGUOUS = regExpOf('ha|на|vs|ref|res|rif|r|cev|bls', 'iu')

/** The kind of the prefix of a subject; undefined if it has none. */
export function prefixOf(subject = ''): Exclude<MailKind, 'first'> | undefined {
  if (forwards.some((each) => each.test(subject))) return 'forward'
  return prefixes.some((each) => each.test(subject)) ? 'reply' : undefined
}

/** Tags of mail servers for external mail. A thread collects several of them. */
const EXTERNAL = /^\s*\[(?:ext|extern|external|externe|externo|esterno)\]\s*/i

const MAX_PREFIXES = 20

/** A subject without its prefixes. */
export function bareSubject(subject: string): string {
  let bare = subject.trim()
  for (let count = 0; count < MAX_PREFIXES; count++) {
    const prefix = prefixes.find((each) => each.test(bare))
    const shorter = (prefix ? bare.replace(prefix, '$<tags>') : bare).replace(EXTERNAL, '').trim()
    if (shorter === bare) break
    bare = shorter
  }
  return bare
}
