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
  return refers || (prefix && !ANY_WORD.test(mail.subject ?? '')) ? 'reply' : 'first'
}

const REPLY =
  're|aw|antw|antwort|sv|svar|vs|ref|réf|rif|res|odp|ynt|yan|cev|vá|válasz|atb|bls|balas|απ|σχετ|отв|ответ|' +
  'на|ha|відп|trả lời|回复|回覆|答复|答覆|返信|회신|답장|השב|תשובה|תגובה|رد'
const FORWARD =
  'fwd?|wg|tr|rv|enc|pd|vb|vl|doorst|İlt|ilt|továbbítás|továbbította|fs|trs|redir\\.?|videresend|videresendt|' +
  'vidarebefordrat|weitergeleitet|προωθ|πρθ|пересл|пер|转发|轉寄|轉發|転送|전달|הועבר|העברה|إعادة توجيه'
const COUNT = '\\s{0,3}(?:\\[\\d{1,3}\\]|\\(\\d{1,3}\\))?\\s{0,3}[:：]\\s*'
/** Tags of ticket systems and gateways: `[EXT] Re: …`. */
const TAGS = '^\\s*(?:\\[[^[\\]]{1,40}\\]\\s*){0,3}'

/** Outlook in Italian uses single capital letters; lower case could be a word of the subject. */
const forwards = [regExpOf(FORWARD, 'iu'), regExpOf('I', 'u')]
const prefixes = [regExpOf(REPLY, 'iu'), regExpOf('R', 'u'), ...forwards]

function regExpOf(words: string, flags: string): RegExp {
  return new RegExp(`(?<tags>${TAGS})(?:${words})\\.?${COUNT}`, flags)
}

/** Words that can start any subject; alone they do not mark an answer. */
const ANY_WORD = regExpOf('ha|на|vs|ref|res|rif|r|cev|bls', 'iu')

/** Whether a subject has the prefix of a reply or a forward. */
export function prefixOf(subject = ''): Exclude<MailKind, 'first'> | undefined {
  if (forwards.some((each) => each.test(subject))) return 'forward'
  return prefixes.some((each) => each.test(subject)) ? 'reply' : undefined
}

/** Mail servers tag external mail, and so tag a thread repeatedly. */
const EXTERNAL = /^\s*\[(?:ext|extern|external|externe|externo|esterno)\]\s*/i

/** A subject without its prefixes. */
export function bareSubject(subject: string): string {
  let bare = subject.trim()
  for (let round = 0; round < 20; round++) {
    const found = prefixes.find((each) => each.test(bare))
    const shorter = (found ? bare.replace(found, '$<tags>') : bare).replace(EXTERNAL, '').trim()
    if (shorter === bare) break
    bare = shorter
  }
  return bare
}
