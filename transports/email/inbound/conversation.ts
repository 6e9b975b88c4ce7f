import { hash } from 'node:crypto'
import type { KeyValues } from '../../../src/core/store.ts'
import { DAY } from '../../../src/core/units.ts'
import type { Identity } from '../proof/claim.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import type { Mail } from './parse.ts'
import { bareSubject, prefixOf } from './subject.ts'

/** How long threads are remembered; after that, a mail without References starts a new one. */
const THREAD_TTL_MS = 60 * DAY
/** Number of ids of a long thread that are looked up. */
const LOOKUPS = 5

/**
 * A conversation is a thread, connected by References and In-Reply-To (RFC 5322, section 3.6.4),
 * even if a client shortened References. A reply without either belongs to the last conversation
 * with its subject and correspondent within `window` ms.
 *
 * If the sender's signature does not cover these headers (as with Microsoft), anyone could have
 * added them. Then they only lead to mails that we sent to this sender, and to no conversation of
 * others.
 */
export function createConversations(kv: KeyValues, gateway: string, sent: SentLog, window: number) {
  const digest = (text: string) => hash('sha256', `${gateway}\n${text}`, 'base64url').slice(0, 22)
  const startedBy = (id: string) => `mail-${digest(id)}`
  const threadKey = (id: string) => `email/${gateway}/thread/${digest(id)}`
  const subjectKey = (mail: Mail) =>
    `email/${gateway}/subject/${digest(`${mail.from[0]?.address}\n${bareSubject(mail.subject ?? '').toLowerCase()}`)}`

  /** Entries that are not stored yet: mails of one batch may answer each other. */
  const unsaved = new Map<string, string>()
  const lookUp = async (key: string) => {
    const value = unsaved.get(key) ?? (await kv.get(key))?.value
    return typeof value === 'string' ? value : undefined
  }

  /**
   * Resolves with the conversation of a mail. `thread`: the conversation of our mail that this mail
   * refers to, even if it is forged; otherwise its own conversation. `answeredAt`: when we sent our
   * mail (Unix ms). `remember` stores the conversation for later mails. `forget` drops it if the
   * mail is not accepted.
   */
  return async (mail: Mail, { unsigned = [] }: Identity) => {
    const { messageId: id, inReplyTo, references, from, subject } = mail
    const isForgeable = unsigned.includes('in-reply-to') || unsigned.includes('references')
    const parents = new Set([...(inReplyTo ? [inReplyTo] : []), ...references.toReversed()])
    let answered: SentRecord | undefined
    let known: string | undefined
    for (const parent of [...parents].slice(0, LOOKUPS)) {
      const record = await sent.byMessageId(parent)
      answered ??= record
      const isOfSender = record?.to.toLowerCase() === from[0]?.address
      if (!isForgeable || isOfSender) known = record?.conversation
      if (!isForgeable) known ??= await lookUp(threadKey(parent))
      if (known) break
    }
    const root = isForgeable ? undefined : (references[0] ?? inReplyTo)
    const isReplyBySubject = root === undefined && prefixOf(subject) !== undefined
    known ??= isReplyBySubject ? await lookUp(subjectKey(mail)) : undefined
    const conversation = known ?? startedBy(root ?? id ?? `${mail.date}\n${from[0]?.address}\n${mail.text}`)
    const entries = [
      // Not stored if it can be derived from the id, as for the first mail of a thread.
      ...(id && startedBy(id) !== conversation ? [{ key: threadKey(id), ttl: THREAD_TTL_MS }] : []),
      ...(from.length > 0 && subject ? [{ key: subjectKey(mail), ttl: window }] : []),
    ]
    for (const { key } of entries) unsaved.set(key, conversation)
    const forget = () => {
      for (const { key } of entries) unsaved.delete(key)
    }
    const remember = async () => {
      await Promise.all(entries.map(({ key, ttl }) => kv.set(key, conversation, { ttl })))
      forget()
    }
    const thread = answered?.thread ?? answered?.conversation ?? conversation
    return { conversation, thread, answeredAt: answered?.at, remember, forget }
  }
}
