import { authorOf } from '../core/author.ts'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import { LARGE_READ } from '../core/message.ts'
import { timeIn } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { HOUR } from '../core/units.ts'
import { defined } from '../lib/defined.ts'
import { patternOf } from '../lib/error-pattern.ts'
import { headOf } from '../lib/head-of.ts'
import { RETRIED, withoutUndone } from '../lib/undone-retries.ts'
import { type Actor, createDeadLetterWork, type LetterKey, namedIn } from './dead-letter-work.ts'
import { createFindLetter, DROPPED, letterNotFound } from './find-letter.ts'
import { countGroups, lastOf, messageIdOf, textOf } from './letter-groups.ts'
import { createRecoveries } from './letter-recovery.ts'
import { letterSearch } from './letter-search.ts'
import { createLettersOfJobs } from './letters-of-jobs.ts'
import type { LongWork } from './long-work.ts'
import { createMessageOfMail } from './message-of-mail.ts'
import type { deadLetters } from './operations/messages.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import { createRetries } from './retried-letters.ts'
import { createRetryWithdrawal } from './retry-withdrawal.ts'
import { createDropNotes } from './undelivered.ts'

type Service = ServiceOf<typeof deadLetters>
type Filter = Parameters<Service['groups']>[0]
type OneOrAll = Parameters<Service['retry']>[0] & { reason?: string }

/** Letters per read. */
const PAGE = 100
/** Maximum characters of a letter's summary. */
const SHOWN = 200

/** Operations on the dead letters of all queues. */
export function createDeadLetters(deps: {
  store: Pick<Store, 'jobs' | 'journal' | 'kv' | 'erasing'>
  longWork: LongWork
  now(): number
}): Service {
  const { deadLetters } = deps.store.jobs
  const withRetry = createRetryReader(deps.store.journal)
  const withRecovery = createRecoveries(deps.store.journal)
  const withMayAnswer = createMayAnswer(deps.store.journal)
  const find = createFindLetter(deps.store)
  const retried = createLettersOfJobs({ kv: deps.store.kv, ofKind: deps.longWork.ofKind })
  const act = createAct(deps.store, retried, deps.now)
  const withdraw = createRetryWithdrawal(deps.store, retried, deps.now)
  const matching = createMatching(deadLetters)

  /**
   * Up to `limit` of the letters that match a filter, oldest first, and the number of all that
   * match.
   */
  async function oldest(filter: Filter, limit: number) {
    const found: LetterKey[] = []
    for await (const letter of matching(filter)) found.push(keyOf(letter))
    return { found: found.slice(-limit).reverse(), total: found.length }
  }

  async function oneOrAll(verb: 'retry' | 'drop', given: OneOrAll, call: Call) {
    const { id, all: _, limit, reason, ...filter } = given
    const by = authorOf(call.caller)
    if (id !== undefined) {
      const letter = await find(id, { queue: filter.queue, use: 'act' })
      const acted = await act(verb, [keyOf(letter)], { by, reason })
      if (acted.length === 0) throw letterNotFound(id)
      return { ok: true }
    }
    const { found, total } = await oldest(filter, limit)
    const acted = await act(verb, found, { by, reason })
    return { ok: true, count: acted.length, more: total > limit, ...namedIn(acted) }
  }

  return {
    bulk: createDeadLetterWork({ oldest, act, retried: retried.add, withdraw }, deps.longWork, deps.now),
    retries: createRetries({ store: deps.store, retried, work: deps.longWork, now: deps.now }),
    async list({ before, limit, ...filter }) {
      const found: DeadLetter[] = []
      let size = 0
      const from = before === undefined ? undefined : placeOf(before)
      for await (const letter of matching(filter, { from, isPartial: true })) {
        found.push(letter)
        size += letter.message?.text.length ?? 0
        if (found.length >= limit || size > LARGE_READ) break
      }
      return Promise.all(found.map((letter) => withRetry(rowOf(letter), keyOf(letter).messageId)))
    },
    async groups({ recovery: wanted, ...filter }) {
      const groups = await countGroups(matching(filter, { isPartial: true }))
      const shown = wanted ? await withRecovery(groups) : groups
      return Promise.all(shown.map(({ messageId, ...group }) => withRetry(group, messageId)))
    },
    async show({ id, queue }) {
      const letter = await find(id, { queue, use: 'show' })
      return withRetry(await withMayAnswer(letter), keyOf(letter).messageId)
    },
    retry: (args, call) => oneOrAll('retry', args, call),
    drop: (args, call) => oneOrAll('drop', args, call),
  }
}

/** Makes the function that yields the dead letters that match a filter, newest first. */
function createMatching({ list }: Pick<Store['jobs']['deadLetters'], 'list'>) {
  return async function* matching(filter: Filter, { from, isPartial = false }: Reading = {}) {
    const { queue, group, since = earliestOf(filter), until } = filter
    const matches = matcherOf(filter)
    let before = earlierOf(from, until)
    for (;;) {
      const page = await list({ queue, group, before, limit: PAGE, isPartial })
      for (const letter of page.items) {
        if (letter.at < since) return
        if (matches(letter)) yield letter
      }
      before = page.items.at(-1)
      if (!page.more || !before) return
    }
  }
}

/** Makes the function that retries or drops letters, and returns those that still existed. */
function createAct(
  store: Pick<Store, 'jobs' | 'journal'>,
  retried: Pick<ReturnType<typeof createLettersOfJobs>, 'handOver'>,
  now: () => number,
) {
  const { journal } = store
  const { deadLetters } = store.jobs
  const beforeDrop = createDropNotes(store)
  return async (
    verb: 'retry' | 'drop',
    letters: readonly LetterKey[],
    { by, reason, job }: Actor,
  ): Promise<LetterKey[]> => {
    const at = now()
    const detail = defined({ by, reason })
    const noteDropped = verb === 'drop' ? await beforeDrop(letters, { at, detail }) : undefined
    await retried.handOver(letters, { do: verb, ...defined({ job }) })
    // All are started in the same turn, so that the order within a lane is kept.
    const done = await Promise.all(
      letters.map(({ id, queue }) =>
        verb === 'drop' ? deadLetters.drop(id, queue) : deadLetters.retry(id, queue, job),
      ),
    )
    const acted = letters.filter((_, index) => done[index])
    await noteDropped?.(new Set(acted.map(({ id }) => id)))
    const note: Note = { at, road: 'dispatch', what: verb === 'retry' ? RETRIED : DROPPED, detail }
    const ids = acted.flatMap(({ messageId }) => messageId ?? [])
    await Promise.all(ids.map((id) => journal.note(id, [note])))
    return acted
  }
}

/**
 * Adds when a letter of dispatch was last retried, and by whom: it has failed again since. The
 * letters of other queues have only the time, from the store.
 * `messageId`: undefined for other queues.
 */
function createRetryReader(journal: Pick<Store['journal'], 'history'>) {
  return async <Row extends object>(row: Row, messageId: string | undefined) => {
    const notes = messageId === undefined ? [] : await journal.history(messageId)
    const last = withoutUndone(notes).findLast(({ road, what }) => road === 'dispatch' && what === RETRIED)
    return {
      ...row,
      ...(last && { retriedAt: last.at, ...defined({ retriedBy: textAt(last.detail, 'by') }) }),
    }
  }
}

/** How long (ms) `show` looks for the message that a mail may answer. */
const FIND_TIME = 1_000

/** Adds the newest message that a send to an address may answer: it is in that conversation. */
function createMayAnswer(journal: Pick<Store['journal'], 'get' | 'search'>) {
  const messageOf = createMessageOfMail(journal)
  return async (letter: DeadLetter) => {
    if (letter.queue !== OUTBOX_QUEUE || letter.message) return letter
    const id = await messageOf(letter, performance.now() + FIND_TIME)
    const mayAnswer = id === undefined ? undefined : await journal.get(id)
    return { ...letter, ...defined({ mayAnswer }) }
  }
}

function keyOf(letter: DeadLetter): LetterKey {
  return { id: letter.id, queue: letter.queue, messageId: messageIdOf(letter) }
}

/**
 * The time (Unix ms) before which no letter matches: a letter is younger than its message, apart
 * from a clock that was set back.
 */
function earliestOf({ message = '', arrivedSince = 0 }: Filter): number {
  return Math.max(timeIn(message) ?? 0, arrivedSince) - HOUR
}

/** Makes the test of a filter, apart from the times, the queue and the group. */
function matcherOf(filter: Filter): (letter: DeadLetter) => boolean {
  const { message, error = '', code, pattern, arrivedSince = 0, arrivedUntil = Infinity } = filter
  const wanted = error.toLowerCase()
  const hasWords = filter.search === undefined ? undefined : letterSearch(filter.search)
  return (letter) => {
    const arrivedAt = timeIn(letter.message?.id ?? '') ?? letter.at
    if (arrivedAt < arrivedSince || arrivedAt >= arrivedUntil) return false
    if (message !== undefined && !concerns(letter, message)) return false
    const last = lastOf(letter)
    if (code !== undefined && last.code !== code) return false
    if (pattern !== undefined && patternOf(last.message) !== pattern) return false
    return last.message.toLowerCase().includes(wanted) && (hasWords?.(letter) ?? true)
  }
}

/** Whether a letter is that of a message, possibly merged into another one, or of a reply to it. */
function concerns({ message, collected = [], data }: DeadLetter, id: string): boolean {
  return [message, ...collected].some((one) => one?.id === id) || textAt(data, 'inReplyTo') === id
}

/** The cursor of a page, or the end of the filter if that is earlier. */
function earlierOf(cursor: Place | undefined, until: number | undefined): Place | undefined {
  if (until === undefined) return cursor
  return cursor && cursor.at < until ? cursor : { at: until, id: '' }
}

/** `isPartial`: leaves out letters of unreachable shards, which is enough to show letters. */
type Reading = { from?: Place | undefined; isPartial?: boolean }
type Place = Pick<DeadLetter, 'at' | 'id'>

/** Reads `at/id`. Throws `usage`. */
function placeOf(text: string): Place {
  const [, at, id = ''] = /^(\d+)\/(.*)$/s.exec(text) ?? []
  if (at === undefined)
    throw new TriviumError('usage', { details: '`before` is the "at/id" of a dead letter' })
  return { at: Number(at), id }
}

function rowOf(letter: DeadLetter) {
  return { ...letter, summary: headOf(textOf(letter), SHOWN) }
}
