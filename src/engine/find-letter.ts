import { shownAuthor } from '../core/author.ts'
import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import { secondOf } from '../core/readable.ts'
import { resumedJobs } from '../core/resumed-job.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { commandText } from '../lib/command-text.ts'
import { RETRIED } from '../lib/undone-retries.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { createMessageOfMail } from './message-of-mail.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import { createUndelivered } from './undelivered.ts'

/** The history entry of a message whose dead letter was dropped. */
export const DROPPED = 'dropped'

/**
 * Finds a letter by its id, or by that of its message: the job of a run after an approval has
 * another id than the message, and so has its reply that was not delivered. To look at (`show`), it
 * also finds a mail that may answer the message, and of several letters the newest. To act on, the
 * letter must be the only one. Throws `dead_letter_not_found`, `usage`.
 */
export function createFindLetter({ jobs: { deadLetters }, journal }: Pick<Store, 'jobs' | 'journal'>) {
  const undelivered = createUndelivered(deadLetters, createMessageOfMail(journal))
  const existing = async (ids: readonly string[], queue: string): Promise<DeadLetter[]> => {
    const found = await Promise.all([...new Set(ids)].map((id) => deadLetters.get(id, queue)))
    return found.filter((letter) => letter !== undefined)
  }
  /** The letters of mails that may answer a message, newest first. */
  const mailsTo = async (id: string): Promise<DeadLetter[]> => {
    const message = await journal.get(id)
    const mails = message && (await undelivered(message.gateway, [message])).get(id)
    return existing((mails ?? []).flatMap(letterOfReply).reverse(), OUTBOX_QUEUE)
  }
  return async (id: string, { queue, use }: { queue: string | undefined; use: Use }): Promise<DeadLetter> => {
    const exact = await deadLetters.get(id, queue)
    if (exact) return exact
    const isIn = (name: string) => queue === undefined || queue === name
    const history = await journal.history(id)
    const [resumed] = isIn(DISPATCH_QUEUE) ? await existing(resumedJobs(id, history), DISPATCH_QUEUE) : []
    if (resumed) return resumed
    const replies = isIn(OUTBOX_QUEUE)
      ? await existing(history.flatMap(letterOfReply).reverse(), OUTBOX_QUEUE)
      : []
    if (use === 'act' && replies.length > 1) throw severalLetters(id, replies)
    const mails = replies.length === 0 && isIn(OUTBOX_QUEUE) ? await mailsTo(id) : []
    const found = replies[0] ?? (use === 'show' ? mails[0] : undefined)
    if (!found) throw letterNotFound(id, mails[0] ? mayAnswerText(mails[0]) : await endOf(id, journal))
    return found
  }
}

/** Whether a letter is only shown, or also retried or dropped. */
type Use = 'show' | 'act'

function severalLetters(id: string, letters: readonly DeadLetter[]): TriviumError {
  const ids = letters.map((letter) => letter.id).join(', ')
  return new TriviumError('usage', { details: `message ${id} has several dead letters; give one of ${ids}` })
}

function mayAnswerText({ id }: DeadLetter): string {
  return ` The mail ${id} may answer this message: ${commandText('dead-letter show', id)}.`
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

/** The message of a dead letter, also of an unsent reply, by the id of the letter. */
export function messageOfLetter(id: string): string | undefined {
  return MESSAGE_OF_LETTER.exec(id)?.[1]
}

/** What became of a dead letter that no longer exists, by the history of its message. */
async function endOf(id: string, journal: Pick<Store['journal'], 'history'>): Promise<string> {
  const message = messageOfLetter(id)
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
