import { pathGet, textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { DeadLetter, Store } from '../core/store.ts'
import { putLast } from '../lib/put-last.ts'

/** What is known of the message of a mail. `before`: only older messages are still to be searched. */
type Progress = { id?: string | undefined; before?: string | undefined; isDone: boolean }

export type MessageOfMail = ReturnType<typeof createMessageOfMail>

/** Maximum number of messages of a sender per read of the journal, newest first. */
const MOST_COMPARED = 10
/** Maximum number of letters whose message is remembered. */
const MOST_REMEMBERED = 1_000

/**
 * Makes a function that finds the newest message that a failed mail may answer. `deadline`: when to
 * stop (`performance.now`); the next call for this letter continues. A large journal has many pages.
 */
export function createMessageOfMail(journal: Pick<Store['journal'], 'search'>) {
  const known = new Map<string, Progress>()
  return async (letter: DeadLetter, deadline: number): Promise<string | undefined> => {
    const sender = recipientOf(letter)
    if (sender === undefined) return undefined
    let progress = known.get(letter.id) ?? { isDone: false }
    while (!progress.isDone && performance.now() < deadline) {
      const { found, next, away } = await journal.search({
        gateways: [letter.group],
        sender,
        until: writtenAt(letter) + 1,
        before: progress.before,
        limit: MOST_COMPARED,
        isPartial: true,
      })
      const id = found.find(({ message }) => mayAnswer(letter, message))?.message.id
      // A newer one may be on the shard that is away, so nothing is remembered.
      if (away) return id
      progress = { id, before: next, isDone: id !== undefined || next === undefined }
      putLast(known, letter.id, progress, MOST_REMEMBERED)
    }
    return progress.id
  }
}

/**
 * Whether a send went to the sender of an earlier message, with the same subject if both have one.
 */
export function mayAnswer(
  letter: DeadLetter,
  { from, subject, receivedAt }: Pick<Message, 'from' | 'subject' | 'receivedAt'>,
): boolean {
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
function recipientOf({ data }: DeadLetter): string | undefined {
  return textAt(data, 'inReplyTo') === undefined ? textAt(data, 'to')?.toLowerCase() : undefined
}

/** The time (Unix ms) at which a send was queued: retries of its dead letter do not change it. */
export function writtenAt({ at, data }: DeadLetter): number {
  const queuedAt = pathGet(data ?? null, 'queuedAt')
  return typeof queuedAt === 'number' ? queuedAt : at
}
