import { pathGet, textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { OUTBOX_QUEUE, outboxNote } from './outbox.ts'
import { NOT_DELIVERED } from './unanswered.ts'

/** Maximum number of dead letters of a gateway that are looked at, newest first. */
const MOST_LETTERS = 100

type Letters = Pick<Store['jobs']['deadLetters'], 'list'>
type Asked = Pick<Message, 'id' | 'from' | 'subject' | 'receivedAt'>

/**
 * Finds permanently failed sends to the address of a sender. They answer no message, so no history
 * has them; replies are in the history of their message.
 */
export function createUndelivered(deadLetters: Letters) {
  /** History entries by message id. A send belongs to the newest message that it may answer. */
  return async (gateway: string, messages: readonly Asked[]): Promise<Map<string, Note[]>> => {
    const filter = { queue: OUTBOX_QUEUE, group: gateway, limit: MOST_LETTERS, isPartial: true }
    const { items } = await deadLetters.list(filter)
    const newestFirst = messages.toSorted((a, b) => b.receivedAt - a.receivedAt)
    const found = new Map<string, Note[]>()
    for (const letter of items.toReversed()) {
      const message = newestFirst.find((one) => mayAnswer(letter, one))
      if (message) found.set(message.id, [...(found.get(message.id) ?? []), noteOf(letter)])
    }
    return found
  }
}

/** Maximum number of dropped letters of one call whose messages are looked for. */
const MOST_DROPPED = 100
/** Messages of a sender that are looked at, newest first. */
const MOST_MESSAGES = 20
/** Maximum number of pages of the journal that are searched for them. */
const MOST_PAGES = 5

/**
 * Makes a function that is called before letters are dropped. After the drop, call what it returns:
 * it notes failed sends in the history of the message that they may answer, which is then the only
 * place that says that they were not delivered.
 */
export function createDropNotes({ journal, jobs: { deadLetters } }: Pick<Store, 'journal' | 'jobs'>) {
  const messageOf = async (letter: DeadLetter) => {
    const sender = recipientOf(letter)
    let before: string | undefined
    for (let pages = 0; sender !== undefined && pages < MOST_PAGES; pages++) {
      const query = { gateways: [letter.group], sender, limit: MOST_MESSAGES, before, isPartial: true }
      const { found, next } = await journal.search(query)
      const match = found.find(({ message }) => mayAnswer(letter, message))
      if (match || next === undefined) return match?.message
      before = next
    }
    return undefined
  }
  return async (letters: readonly Pick<DeadLetter, 'id' | 'queue'>[]) => {
    const ofOutbox = letters.filter(({ queue }) => queue === OUTBOX_QUEUE).slice(-MOST_DROPPED)
    const found = await Promise.all(ofOutbox.map(({ id, queue }) => deadLetters.get(id, queue)))
    return async (dropped: ReadonlySet<string>) => {
      for (const letter of found) {
        if (!letter || !dropped.has(letter.id)) continue
        const message = await messageOf(letter)
        if (message) await journal.note(message.id, [noteOf(letter, false)])
      }
    }
  }
}

/** The same dead letters, read once per gateway: for one call that looks at many messages. */
export function readOnce({ list }: Letters): Letters {
  const pages = new Map<string | undefined, ReturnType<typeof list>>()
  return {
    list(filter) {
      const known = pages.get(filter.group)
      if (known) return known
      const page = list(filter)
      pages.set(filter.group, page)
      return page
    },
  }
}

/**
 * Whether a send went to the sender of an earlier message, with the same subject if both have one.
 */
export function mayAnswer(letter: DeadLetter, { from, subject, receivedAt }: Asked): boolean {
  const to = recipientOf(letter)
  if (to === undefined || writtenAt(letter) < receivedAt) return false
  if (to !== from.address?.toLowerCase() && to !== from.id.toLowerCase()) return false
  const sent = textAt(letter.data, 'subject')
  return sent === undefined || subject === undefined || withoutPrefix(sent) === withoutPrefix(subject)
}

/** A subject without `Re:` and the like. */
function withoutPrefix(subject: string): string {
  return subject
    .replace(/^(?:\s*\p{L}{2,3}\s*:)+/u, '')
    .trim()
    .toLowerCase()
}

/** The address of a send that answers no message. */
export function recipientOf({ data }: DeadLetter): string | undefined {
  return textAt(data, 'inReplyTo') === undefined ? textAt(data, 'to')?.toLowerCase() : undefined
}

/** The time (Unix ms) at which a send was queued: retries of its dead letter do not change it. */
export function writtenAt({ at, data }: DeadLetter): number {
  const queuedAt = pathGet(data ?? null, 'queuedAt')
  return typeof queuedAt === 'number' ? queuedAt : at
}

/** `isKept`: the letter still exists. */
function noteOf(letter: DeadLetter, isKept = true): Note {
  const { id, data, errors } = letter
  const { key = id, to, subject, text, by } = Object(data)
  const error = errors.at(-1)?.message
  const detail = { key, ...defined({ letter: isKept ? id : undefined, to, subject, text, by, error }) }
  return outboxNote(writtenAt(letter), NOT_DELIVERED, detail)
}
