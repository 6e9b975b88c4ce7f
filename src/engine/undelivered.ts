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

function noteOf(letter: DeadLetter): Note {
  const { id, data, errors } = letter
  const { key = id, to, subject, text, by } = Object(data)
  const detail = { key, letter: id, ...defined({ to, subject, text, by, error: errors.at(-1)?.message }) }
  return outboxNote(writtenAt(letter), NOT_DELIVERED, detail)
}
