import { shownAuthor } from '../core/author.ts'
import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import { secondOf } from '../core/readable.ts'
import { resumedJobs } from '../core/resumed-job.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { commandText } from '../lib/command-text.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { createMessageOfMail } from './message-of-mail.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import { createUndelivered } from './undelivered.ts'

/** The history entries of a message whose dead letter was retried, or dropped. */
export const RETRIED = 'retried'
export const DROPPED = 'dropped'

/**
 * Finds a letter by its id, or by that of its message: the job of a run after an approval has
 * another id than the message, and so has its reply that was not delivered; of several replies, the
 * newest is found. Throws `dead_letter_not_found`.
 */
export function createFindLetter({ jobs: { deadLetters }, journal }: Pick<Store, 'jobs' | 'journal'>) {
  const undelivered = createUndelivered(deadLetters, createMessageOfMail(journal))
  /** The letters of the replies to a message, and of mails that may answer it, newest first. */
  const repliesTo = async (id: string, history: readonly Note[]): Promise<string[]> => {
    const message = await journal.get(id)
    if (!message) return []
    const mails = (await undelivered(message.gateway, [message])).get(id) ?? []
    return [...history, ...mails].flatMap(letterOfReply).reverse()
  }
  return async (id: string, queue?: string): Promise<DeadLetter> => {
    let found = await deadLetters.get(id, queue)
    if (found) return found
    const isIn = (name: string) => queue === undefined || queue === name
    const history = await journal.history(id)
    for (const job of isIn(DISPATCH_QUEUE) ? resumedJobs(id, history) : [])
      found ??= await deadLetters.get(job, DISPATCH_QUEUE)
    for (const letter of !found && isIn(OUTBOX_QUEUE) ? await repliesTo(id, history) : [])
      found ??= await deadLetters.get(letter, OUTBOX_QUEUE)
    if (!found) throw letterNotFound(id, await endOf(id, journal))
    return found
  }
}

/** The id of the dead letter of a reply, in an entry that says that it was not delivered. */
function letterOfReply({ road, what, detail }: Note): string[] {
  const letter = textAt(detail, 'letter')
  if (letter !== undefined) return [letter]
  const key = road === 'outbox' && what === 'dead' ? textAt(detail, 'key') : undefined
  return key === undefined ? [] : [letterOfKey(key)]
}

const letterOfKey = (key: string) => `outbox:${key}`

/** The message of a dead letter, at the start of its id. */
const MESSAGE_OF_LETTER = /^(?:outbox:)?([0-9a-f]{8}-[0-9a-f-]{27})/

/** What became of a dead letter that no longer exists, by the history of its message. */
async function endOf(id: string, journal: Pick<Store['journal'], 'history'>): Promise<string> {
  const [, message] = MESSAGE_OF_LETTER.exec(id) ?? []
  if (message === undefined) return ''
  const isReply = id !== message
  const end = (await journal.history(message)).findLast(({ road, what, detail }) =>
    isReply
      ? (what === DROPPED && textAt(detail, 'id') === id) ||
        (road === 'outbox' && what === 'sent' && letterOfKey(textAt(detail, 'key') ?? '') === id)
      : what === RETRIED || what === DROPPED,
  )
  if (!end) return ''
  const by = textAt(end.detail, 'by')
  const isSent = end.what === 'sent'
  const who = by === undefined || isSent ? '' : ` by ${shownAuthor(by)}`
  const how = isSent ? 'retried, and sent' : end.what
  return ` It was ${how}${who} at ${secondOf(end.at)}: ${commandText('message show', message)}.`
}

/** `end`: a sentence that says how it ended. */
export function letterNotFound(id: string, end = ''): TriviumError {
  return new TriviumError('dead_letter_not_found', { id, end })
}
