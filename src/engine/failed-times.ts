import { isInRange } from '../core/attempt-range.ts'
import { timeOf } from '../core/message-id.ts'
import { createMatcher, type Outcome } from '../core/message-query.ts'
import type { DeadLetter, DeadLetters, MessageSearch } from '../core/store.ts'
import { foldedTest } from '../lib/fold-text.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import { OUTBOX_QUEUE } from './outbox.ts'

/** Number of letters per read, and of a queue per call, the newest first. */
const PAGE = 100
const MOST_LETTERS = 1_000
/** Approximate duration (ms) of a call: letters contain their messages. */
const CALL_TIME = 300

/** The queues with letters of messages or replies, and the outcome of these messages. */
const QUEUES: readonly [queue: string, outcome: Outcome][] = [
  [DISPATCH_QUEUE, 'dead'],
  [OUTBOX_QUEUE, 'undelivered'],
]

type Search = Omit<MessageSearch, 'limit' | 'before'>

/**
 * When the failed messages that match a search arrived (Unix ms): those that have dead letters, and
 * those whose replies do. They are found without reading the journal. `knownFrom`: if there are too
 * many letters, `times` may lack messages that arrived before this time.
 */
export async function failedTimes(
  deadLetters: Pick<DeadLetters, 'list'>,
  search: Search,
): Promise<{ times: number[]; knownFrom?: number }> {
  const { outcomes, route, withoutRoutes, attempts, error } = search
  // Letters of the outbox do not know the route, nor the attempts at the message.
  const wanted = QUEUES.filter(
    ([queue, outcome]) =>
      (outcomes?.includes(outcome) ?? true) &&
      ((route ?? withoutRoutes ?? attempts) === undefined || queue === DISPATCH_QUEUE),
  )
  const read = await Promise.all(wanted.map(([queue]) => lettersIn(deadLetters, queue, search)))
  const matches = createMatcher(search)
  // A letter has an error for each attempt.
  const isTried = ({ errors }: DeadLetter) => !attempts || isInRange(errors.length, attempts)
  const hasError = error === undefined ? undefined : foldedTest(error)
  const isWanted = ({ errors }: DeadLetter) => !hasError || errors.some((each) => hasError(each.message))
  const letters = read
    .flatMap(({ found }) => found)
    .filter((letter) => !withoutRoutes?.includes(letter.group) && isTried(letter) && isWanted(letter))
  const ids = letters.flatMap(({ message }) => (message && matches(message) ? message.id : []))
  const cuts = read.flatMap(({ cutAt = [] }) => cutAt)
  return { times: [...new Set(ids)].map(timeOf), ...(cuts.length > 0 && { knownFrom: Math.max(...cuts) }) }
}

/**
 * No message arrived after its letter died, so letters from before the search end it. `cutAt`: when
 * the last letter died, if there are more.
 */
async function lettersIn(
  { list }: Pick<DeadLetters, 'list'>,
  queue: string,
  { route, since = 0 }: Search,
): Promise<{ found: DeadLetter[]; cutAt?: number }> {
  const deadline = performance.now() + CALL_TIME
  const found: DeadLetter[] = []
  let before: DeadLetter | undefined
  do {
    const page = await list({ queue, group: route, before, limit: PAGE, isPartial: true })
    found.push(...page.items)
    before = page.more ? page.items.at(-1) : undefined
    if (!before || before.at < since) return { found }
  } while (found.length < MOST_LETTERS && performance.now() < deadline)
  return { found, cutAt: before.at }
}
