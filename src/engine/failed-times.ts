import { timeOf } from '../core/message-id.ts'
import { createMatcher, type Outcome } from '../core/message-query.ts'
import type { DeadLetter, DeadLetters, MessageSearch } from '../core/store.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { OUTBOX_QUEUE } from './outbox.ts'

/** Number of letters per read, and per call of a queue, the newest first. */
const PAGE = 100
const MOST_LETTERS = 1_000

/** The queues with letters of messages or replies, and the outcome of these messages. */
const QUEUES: readonly [queue: string, outcome: Outcome][] = [
  [DISPATCH_QUEUE, 'dead'],
  [OUTBOX_QUEUE, 'undelivered'],
]

type Search = Omit<MessageSearch, 'limit' | 'before'>

/**
 * When the failed messages that match a search arrived (Unix ms): those that have dead letters, and
 * those whose replies do. They are found without reading the journal.
 */
export async function failedTimes(deadLetters: Pick<DeadLetters, 'list'>, search: Search): Promise<number[]> {
  const { outcomes, route } = search
  // Letters of the outbox do not know the route.
  const wanted = QUEUES.filter(
    ([queue, outcome]) =>
      (outcomes?.includes(outcome) ?? true) && (route === undefined || queue === DISPATCH_QUEUE),
  )
  const letters = await Promise.all(wanted.map(([queue]) => lettersIn(deadLetters, queue, search)))
  const matches = createMatcher(search)
  const ids = letters.flat().flatMap(({ message }) => (message && matches(message) ? message.id : []))
  return [...new Set(ids)].map(timeOf)
}

/** No message arrived after its letter died, so letters from before the search end it. */
async function lettersIn(
  { list }: Pick<DeadLetters, 'list'>,
  queue: string,
  { route, since = 0 }: Search,
): Promise<DeadLetter[]> {
  const found: DeadLetter[] = []
  let before: DeadLetter | undefined
  do {
    const page = await list({ queue, group: route, before, limit: PAGE, isPartial: true })
    found.push(...page.items)
    before = page.more ? page.items.at(-1) : undefined
  } while (before && before.at >= since && found.length < MOST_LETTERS)
  return found
}
