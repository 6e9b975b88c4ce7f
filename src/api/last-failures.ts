import { textAt } from '../core/json.ts'
import { isTest, type Message } from '../core/message.ts'
import type { Outcome } from '../core/message-query.ts'
import type { Store, Waiting } from '../core/store.ts'
import { createSenders, type WaitingSender } from '../engine/letter-people.ts'
import type { LastFailure, StoredReadings } from '../features/troubles/readings.ts'
import { LONG_WAIT } from '../features/troubles/road-troubles.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'

/** By road: the outcome of messages that are tried again. */
const RETRIED: Readonly<Record<string, Outcome>> = { dispatch: 'retrying', outbox: 'replying' }

/** Causes and tests are found among this many of the newest messages that are tried again. */
const MAX_SEARCHED = 50
/** Maximum number of pages of a search. A page covers a limited part of the journal. */
const MAX_PAGES = 5
/** Time (ms) after which no further page is read. */
const MAX_SEARCH_TIME = 500
/** How long (ms) the last failure of a message is cached. The list of troubles is read often. */
const LIFETIME = 5_000

type Entry = StoredReadings['waiting'][number]
type Reader = Pick<Store['journal'], 'search' | 'history'>
/** A message that is tried again, with its last failed attempt. */
type Failed = { message: Message; failure: LastFailure | undefined; nextAt: number | undefined }
type LastAttempt = Pick<Failed, 'failure' | 'nextAt'>

/**
 * Makes a function that splits each entry of messages that have been retried for long by cause: the
 * route and the pattern of the last error. Tests do not count: an entry that has only tests is left
 * out.
 */
export function createRetryCauses(journal: Reader) {
  let known = new Map<string, LastAttempt & { readAt: number }>()

  return async function withCauses(waiting: readonly Waiting[], at: number): Promise<Entry[]> {
    const next: typeof known = new Map()
    const lastAttemptOf = async (id: string, road: string): Promise<LastAttempt> => {
      const key = `${road} ${id}`
      const cached = known.get(key)
      const isFresh = cached !== undefined && at - cached.readAt < LIFETIME
      const found = isFresh ? cached : { readAt: at, ...(await readLastAttempt(journal, id, road)) }
      next.set(key, found)
      return found
    }
    const entries = await Promise.all(
      waiting.map((one) =>
        one.state === 'retrying' && at - one.oldestAt > LONG_WAIT
          ? splitByCause({ journal, lastAttemptOf, at }, one)
          : [one],
      ),
    )
    known = next
    return entries.flat()
  }
}

async function splitByCause(
  {
    journal,
    lastAttemptOf,
    at,
  }: { journal: Reader; lastAttemptOf: (id: string, road: string) => Promise<LastAttempt>; at: number },
  one: Waiting & { state: 'retrying' },
): Promise<Entry[]> {
  const outcome = RETRIED[one.road]
  if (!outcome) return [one]
  const { messages, isAll } = await findRetried(journal, one.gateway, outcome)
  const others = messages.filter((message) => !isTest(message))
  const tests = messages.length - others.length
  if (tests > 0 && others.length === 0 && tests >= one.count) return []
  const failed = await Promise.all(
    others.map(async (message) => ({ message, ...(await lastAttemptOf(message.id, one.road)) })),
  )
  const causes = [...Map.groupBy(failed, causeOf).values()]
  const total = Math.max(others.length, one.count - tests)
  if (causes.length < 2) {
    const isKnown = tests > 0 && others.length > 0 && isAll
    const since = isKnown ? sinceOf(one, others) : one.oldestAt
    // The store's time is that of all its messages, tests included.
    const nextAt = others.length === one.count ? one.nextAt : nextAttempt(one, failed, at)
    const people = peopleOf(others)
    return [
      { ...one, count: total, oldestAt: since, nextAt, people, ...defined({ failure: failed[0]?.failure }) },
    ]
  }
  const rest = isAll ? 0 : total - others.length
  return [
    ...causes.map((messagesOfIt) => entryOf(one, messagesOfIt, at)),
    ...(rest > 0 ? [{ ...one, count: rest }] : []),
  ]
}

/** The newest messages of a gateway (empty: of all) with this outcome. `isAll`: there are no others. */
async function findRetried(journal: Pick<Reader, 'search'>, gateway: string, outcome: Outcome) {
  const messages: Message[] = []
  const deadline = performance.now() + MAX_SEARCH_TIME
  let before: string | undefined
  for (let pages = 0; pages < MAX_PAGES && performance.now() < deadline; pages++) {
    const { found, next } = await journal.search({
      gateways: gateway === '' ? undefined : [gateway],
      outcomes: [outcome],
      limit: MAX_SEARCHED - messages.length,
      isPartial: true,
      before,
    })
    messages.push(...found.map(({ message }) => message))
    before = next
    if (next === undefined || messages.length >= MAX_SEARCHED) break
  }
  return { messages, isAll: before === undefined }
}

/** Identifies a cause. */
function causeOf({ failure }: Failed): string {
  return JSON.stringify([failure?.route, failure && patternOf(failure.error)])
}

/** The entry of one of several causes. `failed`: its messages, newest first. */
function entryOf(one: Waiting & { state: 'retrying' }, failed: readonly Failed[], at: number): Entry {
  const messages = failed.map(({ message }) => message)
  return {
    ...one,
    count: failed.length,
    oldestAt: sinceOf(one, messages),
    nextAt: nextAttempt(one, failed, at),
    people: peopleOf(messages),
    ...defined({ failure: failed[0]?.failure }),
  }
}

function peopleOf(messages: readonly Message[]): WaitingSender[] {
  const senders = createSenders()
  for (const message of messages) senders.add(message)
  return senders.people()
}

/** The next attempt at one of these messages. Times in the past are those of running attempts. */
function nextAttempt(one: Waiting & { state: 'retrying' }, failed: readonly Failed[], at: number): number {
  const times = failed.flatMap(({ nextAt }) => nextAt ?? [])
  const ahead = times.filter((time) => time > at)
  if (ahead.length > 0) return Math.min(...ahead)
  return times.length > 0 ? Math.min(...times) : one.nextAt
}

/** A retried dead letter waits since its retry, which is later than its message. */
function sinceOf({ oldestAt }: Waiting, messages: readonly Message[]): number {
  return Math.max(oldestAt, Math.min(...messages.map(({ receivedAt }) => receivedAt)))
}

async function readLastAttempt(
  journal: Pick<Reader, 'history'>,
  messageId: string,
  road: string,
): Promise<LastAttempt> {
  const notes = (await journal.history(messageId)).filter((note) => note.road === road)
  for (const { at, detail } of notes.toReversed()) {
    const error = textAt(detail, 'error') ?? textAt(detail, 'reason')
    if (error === undefined) continue
    const delay = Number(Object(detail).delay)
    const failure = { messageId, error, ...defined({ route: textAt(detail, 'route') }) }
    return { failure, nextAt: Number.isFinite(delay) ? at + delay : undefined }
  }
  return { failure: undefined, nextAt: undefined }
}
