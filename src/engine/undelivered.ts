import { textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { createMessageOfMail, type MessageOfMail, mayAnswer, writtenAt } from './message-of-mail.ts'
import { OUTBOX_QUEUE, outboxNote } from './outbox.ts'
import { NOT_DELIVERED } from './unanswered.ts'

/** Maximum number of dead letters of a gateway that are looked at, newest first. */
const MOST_LETTERS = 100
/** How long (ms) a call looks for messages. */
const FIND_TIME = 1_000

type Letters = Pick<Store['jobs']['deadLetters'], 'list'>
type Asked = Pick<Message, 'id' | 'from' | 'subject' | 'receivedAt'>

/**
 * Finds permanently failed sends to the address of a sender. They answer no message, so no history
 * has them; replies are in the history of their message.
 */
export function createUndelivered(deadLetters: Letters, messageOf?: MessageOfMail) {
  /**
   * History entries by message id. A send belongs to the newest message that it may answer: of the
   * given ones, or with `messageOf` of all.
   */
  return async (gateway: string, messages: readonly Asked[]): Promise<Map<string, Note[]>> => {
    const filter = { queue: OUTBOX_QUEUE, group: gateway, limit: MOST_LETTERS, isPartial: true }
    const { items } = await deadLetters.list(filter)
    const newestFirst = messages.toSorted((a, b) => b.receivedAt - a.receivedAt)
    const found = new Map<string, Note[]>()
    for (const letter of items.toReversed()) {
      const message = newestFirst.find((one) => mayAnswer(letter, one))
      const newest = message && (await messageOf?.(letter, performance.now() + FIND_TIME))
      if (newest !== undefined && newest !== message?.id) continue
      if (message) found.set(message.id, [...(found.get(message.id) ?? []), noteOf(letter)])
    }
    return found
  }
}

/** Maximum number of dropped mails of one call whose messages are looked for. */
const MOST_MAILS = 100

/**
 * Makes a function to call before letters are dropped. It returns a function to call after the drop,
 * which notes who dropped a reply in the history of the message. A mail that is not a direct reply
 * gets its note at the message that it probably answers: once the letter is gone, only the note says
 * that it was not delivered. A message that is not found in time, or is on an unreachable shard, gets
 * no note, so that the drop itself does not fail.
 */
export function createDropNotes({ journal, jobs: { deadLetters } }: Pick<Store, 'journal' | 'jobs'>) {
  const messageOf = createMessageOfMail(journal)
  const note = (id: string, one: Note) => journal.note(id, [one]).catch(ignoreAway)
  return async (
    letters: readonly Pick<DeadLetter, 'id' | 'queue'>[],
    { at, detail }: { at: number; detail: object },
  ) => {
    const ofOutbox = letters.filter(({ queue }) => queue === OUTBOX_QUEUE)
    const read = await Promise.all(ofOutbox.map(({ id, queue }) => deadLetters.get(id, queue)))
    const found = read.filter((letter) => letter !== undefined)
    const deadline = performance.now() + FIND_TIME
    const mails: { letter: DeadLetter; id: string }[] = []
    for (const letter of found.slice(-MOST_MAILS).toReversed()) {
      const id = await messageOf(letter, deadline)
      if (id !== undefined) mails.push({ letter, id })
    }
    return async (dropped: ReadonlySet<string>) => {
      for (const { letter, id } of mails) if (dropped.has(letter.id)) await note(id, noteOf(letter, false))
      const replies = found.filter(({ id }) => dropped.has(id))
      await Promise.all(
        replies.map(({ id, data }) => {
          const message = textAt(data, 'inReplyTo')
          return message && note(message, outboxNote(at, 'dropped', { id, ...detail }))
        }),
      )
    }
  }
}

function ignoreAway(error: unknown): void {
  if (!isStoreAway(error)) throw error
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

/** `isKept`: the letter still exists. */
function noteOf(letter: DeadLetter, isKept = true): Note {
  const { id, data, errors } = letter
  const { key = id, to, subject, text, by } = Object(data)
  const error = errors.at(-1)?.message
  const detail = { key, ...defined({ letter: isKept ? id : undefined, to, subject, text, by, error }) }
  return outboxNote(writtenAt(letter), NOT_DELIVERED, detail)
}
