import { hash } from 'node:crypto'
import type { KeyValues } from '../../../src/core/store.ts'
import type { Identity } from '../proof/claim.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import type { Mail } from './parse.ts'
import { bareSubject, prefixOf } from './subject.ts'

/** How long (ms) threads are remembered; after that, a mail without References starts a new one. */
const KEEP = 60 * 86_400_000
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
  const ofRoot = (id: string) => `mail-${digest(id)}`
  const threadKey = (id: string) => `email/${gateway}/thread/${digest(id)}`
  const subjectKey = (mail: Mail) =>
    `email/${gateway}/subject/${digest(`${mail.from[0]?.address}\n${bareSubject(mail.subject ?? '').toLowerCase()}`)}`

  /** Found but not stored yet, because mails of one batch may answer each other. */
  const fresh = new Map<string, string>()
  const text = async (key: string) => {
    const value = fresh.get(key) ?? (await kv.get(key))?.value
    return typeof value === 'string' ? value : undefined
  }

  /**
   * `thread`: the conversation of our mail that this one refers to, whoever wrote it; otherwise its
   * own. `answers`: when we sent that mail (Unix ms). `remember` stores it for later mails.
   */
  return async (mail: Mail, { unsigned = [] }: Identity) => {
    const { messageId: id, inReplyTo, references, from, subject } = mail
    const isOpen = unsigned.includes('in-reply-to') || unsigned.includes('references')
    const parents = new Set([...(inReplyTo ? [inReplyTo] : []), ...references.toReversed()])
    let answered: SentRecord | undefined
    let conversation: string | undefined
    for (const parent of [...parents].slice(0, LOOKUPS)) {
      const record = await sent.of(parent)
      answered ??= record
      if (!isOpen || record?.to.toLowerCase() === from[0]?.address) conversation = record?.conversation
      if (!isOpen) conversation ??= await text(threadKey(parent))
      if (conversation) break
    }
    const root = isOpen ? undefined : (references[0] ?? inReplyTo)
    const isReply = root === undefined && prefixOf(subject) !== undefined
    conversation ??= isReply ? await text(subjectKey(mail)) : undefined
    const found = conversation ?? ofRoot(root ?? id ?? `${mail.date}\n${from[0]?.address}\n${mail.text}`)
    const notes = [
      // The first mail of a thread is found by its own id; only what cannot be derived is stored.
      ...(id && ofRoot(id) !== found ? [{ key: threadKey(id), ttl: KEEP }] : []),
      ...(from.length > 0 && subject ? [{ key: subjectKey(mail), ttl: window }] : []),
    ]
    for (const { key } of notes) fresh.set(key, found)
    const remember = async () => {
      await Promise.all(notes.map(({ key, ttl }) => kv.set(key, found, { ttl })))
      for (const { key } of notes) fresh.delete(key)
    }
    const thread = answered?.thread ?? answered?.conversation ?? found
    return { conversation: found, thread, answers: answered?.at, remember }
  }
}
