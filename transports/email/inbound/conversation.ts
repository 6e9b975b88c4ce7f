import { hash } from 'node:crypto'
import type { KeyValues } from '../../../src/core/store.ts'
import { defined } from '../../../src/lib/defined.ts'
import type { Identity } from '../proof/claim.ts'
import type { SentLog, SentRecord } from '../sent-log.ts'
import type { Mail } from './parse.ts'
import { bareSubject, isReplySubject } from './subject.ts'

/** Finds the conversation of a mail, and remembers it for the mails that answer it. */
export type Conversations = ReturnType<typeof createConversations>

/**
 * `thread`: the conversation in which we sent the mail that this one refers to, whoever wrote it; else its own. `answers`:
 * when we sent that mail (Unix ms).
 */
export type Found = { conversation: string; thread: string; answers?: number }

type Note = { key: string; ttl: number }

/** Threads are answered within this time; after it a mail without References starts a new one. */
const KEEP = 60 * 86_400_000
/** How many ids of a long thread are looked up. */
const LOOKUPS = 5

/**
 * A conversation is a thread: what References and In-Reply-To tie together (RFC 5322, section 3.6.4), also where
 * a client shortened References. A reply without either belongs to the last conversation with its subject and
 * correspondent, within `window` ms.
 *
 * Where the proof of a sender leaves these headers out (Microsoft's does), anybody may have put them over her words.
 * They lead to what was sent to her then, and to no conversation of others.
 */
export function createConversations(options: {
  kv: KeyValues
  gateway: string
  sent: SentLog
  window: number
}) {
  const { kv, gateway, sent, window } = options
  const digest = (text: string) => hash('sha256', `${gateway}\n${text}`, 'base64url').slice(0, 22)
  const ofRoot = (id: string) => `mail-${digest(id)}`
  const threadKey = (id: string) => `email/${gateway}/thread/${digest(id)}`
  const subjectKey = (mail: Mail) =>
    `email/${gateway}/subject/${digest(`${mail.from[0]?.address}\n${bareSubject(mail.subject ?? '').toLowerCase()}`)}`

  /** What was found and is not on the store yet: mails of one batch may answer each other. */
  const fresh = new Map<string, string>()
  const notesOn = (mail: Mail, conversation: string): Note[] => {
    const { messageId: id, from, subject } = mail
    return [
      // A thread's first mail is found by its own id; only what cannot be computed is stored.
      ...(id && ofRoot(id) !== conversation ? [{ key: threadKey(id), ttl: KEEP }] : []),
      ...(from.length > 0 && subject ? [{ key: subjectKey(mail), ttl: window }] : []),
    ]
  }
  const text = async (key: string) => {
    const noted = fresh.get(key)
    if (noted !== undefined) return noted
    const value = (await kv.get(key))?.value
    return typeof value === 'string' ? value : undefined
  }

  return {
    async find(mail: Mail, { unsigned = [] }: Identity): Promise<Found> {
      const isOpen = unsigned.includes('in-reply-to') || unsigned.includes('references')
      const parents = new Set([...(mail.inReplyTo ? [mail.inReplyTo] : []), ...mail.references.toReversed()])
      let answered: SentRecord | undefined
      let conversation: string | undefined
      for (const id of [...parents].slice(0, LOOKUPS)) {
        const record = await sent.of(id)
        answered ??= record
        if (!isOpen || record?.to.toLowerCase() === mail.from[0]?.address) conversation = record?.conversation
        if (!isOpen) conversation ??= await text(threadKey(id))
        if (conversation) break
      }
      const root = isOpen ? undefined : (mail.references[0] ?? mail.inReplyTo)
      const isReply = root === undefined && isReplySubject(mail.subject)
      conversation ??= isReply ? await text(subjectKey(mail)) : undefined
      conversation ??= ofRoot(
        root ?? mail.messageId ?? `${mail.date}\n${mail.from[0]?.address}\n${mail.text}`,
      )
      for (const { key } of notesOn(mail, conversation)) fresh.set(key, conversation)
      const thread = answered?.thread ?? answered?.conversation ?? conversation
      return { conversation, thread, ...defined({ answers: answered?.at }) }
    },

    /** Makes durable what `find` found. */
    async remember(mail: Mail, conversation: string): Promise<void> {
      const keep = async ({ key, ttl }: Note) => {
        await kv.set(key, conversation, { ttl })
        fresh.delete(key)
      }
      await Promise.all(notesOn(mail, conversation).map(keep))
    },
  }
}
