import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import type { DeadLetter, FoundMessages, MessageSearch, Store } from '../core/store.ts'
import { putLast } from '../lib/put-last.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import { mayAnswer, recipientOf, writtenAt } from './undelivered.ts'

type Found = FoundMessages['found'][number]

/** Adds to a page of a search the messages with an undelivered mail, and sets their outcome. */
export type WithMails = (query: MessageSearch, page: FoundMessages) => Promise<FoundMessages>

/** Maximum number of dead letters of the outbox that are looked at, newest first. */
const MOST_LETTERS = 100
/** Maximum number of messages of a sender that are compared with a letter, newest first. */
const MOST_COMPARED = 10
/** Maximum number of letters whose message is remembered. */
const MOST_REMEMBERED = 1_000
/** Maximum number of messages of the same millisecond. */
const MOST_AT_ONCE = 50
/** Later than the id of every message. */
const LAST = '~'

/**
 * Adds to a page of a search what stores do not know: a message is `undelivered` too if a later
 * mail to its sender failed permanently. Such mail answers no message by id.
 */
export function createUndeliveredMails({ journal, jobs }: Pick<Store, 'journal' | 'jobs'>): WithMails {
  /** The message of each letter; undefined if there is none. */
  const messageOf = new Map<string, string | undefined>()

  /** The newest message to which a letter may be an answer. */
  async function findMessage(letter: DeadLetter, to: string): Promise<string | undefined> {
    if (messageOf.has(letter.id)) return messageOf.get(letter.id)
    const until = writtenAt(letter) + 1
    const search = { gateways: [letter.group], sender: to, until, limit: MOST_COMPARED, isPartial: true }
    const { found, next } = await journal.search(search)
    const id = found.find(({ message }) => mayAnswer(letter, message))?.message.id
    // Otherwise, the time of this read has ended before the message was found.
    if (id !== undefined || next === undefined) putLast(messageOf, letter.id, id, MOST_REMEMBERED)
    return id
  }

  async function isAnswered(id: string, { id: letter }: DeadLetter, since: number): Promise<boolean> {
    const notes = await journal.history(id)
    return notes.some(
      ({ road, what, at, detail }) =>
        road === 'outbox' && what === 'sent' && at > since && Object(detail).letter !== letter,
    )
  }

  /** The messages whose last answer is such a letter. */
  async function unanswered(): Promise<Set<string>> {
    const { items } = await jobs.deadLetters.list({
      queue: OUTBOX_QUEUE,
      limit: MOST_LETTERS,
      isPartial: true,
    })
    const ids = items.map(async (letter) => {
      const to = recipientOf(letter)
      const id = to === undefined ? undefined : await findMessage(letter, to)
      return id !== undefined && !(await isAnswered(id, letter, writtenAt(letter))) ? [id] : []
    })
    return new Set((await Promise.all(ids)).flat())
  }

  return async (query, page) => {
    const ids = await unanswered()
    if (ids.size === 0) return page
    const { outcomes, before = LAST, limit } = query
    const known = page.found.flatMap((one) => {
      const found = ids.has(one.message.id) ? { ...one, outcome: afterMail(one.outcome) } : one
      return outcomes?.includes(found.outcome) === false ? [] : [found]
    })
    if (!outcomes?.includes('undelivered')) return { ...page, found: known }
    const missing = [...ids].filter(
      (id) => id < before && id >= (page.next ?? '') && !known.some(({ message }) => message.id === id),
    )
    const added = await Promise.all(missing.map((id) => findIn(journal, query, id)))
    const found = [...known, ...added.flat()].sort((a, b) => (a.message.id < b.message.id ? 1 : -1))
    if (found.length <= limit) return { ...page, found }
    const next = found[limit - 1]?.message.id
    return { ...page, found: found.slice(0, limit), ...(next !== undefined && { next }) }
  }
}

/** A message, if it matches a search apart from its outcome: with the outcome `undelivered`. */
async function findIn(
  journal: Pick<Store['journal'], 'get' | 'search'>,
  query: MessageSearch,
  id: string,
): Promise<Found[]> {
  const at = timeOf(id)
  const { since = 0, until = Number.POSITIVE_INFINITY } = query
  const message = at < since || at >= until ? undefined : await journal.get(id)
  if (!message) return []
  const { gateway, conversation } = message
  if (query.gateways?.includes(gateway) === false) return []
  if (query.conversation !== undefined && query.conversation !== conversation) return []
  const search = {
    ...query,
    outcomes: undefined,
    before: undefined,
    since: at,
    until: at + 1,
    limit: MOST_AT_ONCE,
  }
  const { found } = await journal.search(search)
  return found
    .filter((one) => one.message.id === id)
    .map(({ message, outcome }) => ({ message, outcome: afterMail(outcome) }))
    .filter(({ outcome }) => outcome === 'undelivered')
}

/** The outcome of a message if a later mail to its sender was not delivered. */
export function afterMail(outcome: Outcome): Outcome {
  return outcome === 'done' || outcome === 'unrouted' ? 'undelivered' : outcome
}
