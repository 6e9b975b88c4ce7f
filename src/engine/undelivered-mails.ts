import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import { isStoreAway } from '../core/reachable.ts'
import type { DeadLetter, FoundMessages, MessageSearch, Store } from '../core/store.ts'
import { createMessageOfMail, mayAnswer, writtenAt } from './message-of-mail.ts'
import { OUTBOX_QUEUE } from './outbox.ts'

type Found = FoundMessages['found'][number]

/** Adds to a page of a search the messages with an undelivered mail, and sets their outcome. */
export type WithMails = (query: MessageSearch, page: FoundMessages) => Promise<FoundMessages>

/** Maximum number of dead letters of the outbox that are looked at, newest first. */
const MOST_LETTERS = 100
/** How long (ms) a call looks for the messages of letters; later calls continue. */
const FIND_TIME = 250
/** Later than the id of every message. */
const LAST = '~'

/**
 * Adds to a page of a search what stores do not know: a message is `undelivered` too if a later
 * mail to its sender failed permanently. Such mail answers no message by id.
 */
export function createUndeliveredMails({ journal, jobs }: Pick<Store, 'journal' | 'jobs'>): WithMails {
  const messageOf = createMessageOfMail(journal)

  /** True too if its shard is away: then no list has the message. */
  async function isAnswered(id: string, { id: letter }: DeadLetter, since: number): Promise<boolean> {
    const notes = await journal.history(id).catch(undefinedIfAway)
    if (!notes) return true
    return notes.some(
      ({ road, what, at, detail }) =>
        road === 'outbox' && what === 'sent' && at > since && Object(detail).letter !== letter,
    )
  }

  /** The messages whose last answer is a letter that a list may need: see `mayConcern`. */
  async function unanswered(query: MessageSearch, page: FoundMessages): Promise<Set<string>> {
    const { items } = await jobs.deadLetters.list({
      queue: OUTBOX_QUEUE,
      limit: MOST_LETTERS,
      isPartial: true,
    })
    const deadline = performance.now() + FIND_TIME
    const mails: { letter: DeadLetter; id: string }[] = []
    for (const letter of items) {
      const id = mayConcern(letter, query, page) ? await messageOf(letter, deadline) : undefined
      if (id !== undefined) mails.push({ letter, id })
    }
    const ids = mails.map(async ({ letter, id }) =>
      (await isAnswered(id, letter, writtenAt(letter))) ? [] : [id],
    )
    return new Set((await Promise.all(ids)).flat())
  }

  return async (query, page) => {
    const ids = await unanswered(query, page)
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

/** A list of undelivered messages may need each letter; others only those to senders on their page. */
function mayConcern(letter: DeadLetter, { gateways, outcomes }: MessageSearch, { found }: FoundMessages) {
  if (gateways?.includes(letter.group) === false) return false
  return outcomes?.includes('undelivered') || found.some(({ message }) => mayAnswer(letter, message))
}

function undefinedIfAway(error: unknown): undefined {
  if (!isStoreAway(error)) throw error
}

/** A message, if it matches a search apart from its outcome: with the outcome `undelivered`. */
async function findIn(
  journal: Pick<Store['journal'], 'get' | 'search'>,
  query: MessageSearch,
  id: string,
): Promise<Found[]> {
  const at = timeOf(id)
  const { since = 0, until = Number.POSITIVE_INFINITY } = query
  const message = at < since || at >= until ? undefined : await journal.get(id).catch(undefinedIfAway)
  if (!message) return []
  const { gateway, conversation } = message
  if (query.gateways?.includes(gateway) === false) return []
  if (query.conversation !== undefined && query.conversation !== conversation) return []
  const search = {
    ...query,
    id,
    outcomes: undefined,
    before: undefined,
    since: at,
    until: at + 1,
    limit: 1,
    isPartial: true,
  }
  const { found } = await journal.search(search)
  return found
    .map(({ message, outcome }) => ({ message, outcome: afterMail(outcome) }))
    .filter(({ outcome }) => outcome === 'undelivered')
}

/** The outcome of a message if a later mail to its sender was not delivered. */
export function afterMail(outcome: Outcome): Outcome {
  return outcome === 'done' || outcome === 'unrouted' ? 'undelivered' : outcome
}
