import { authorOf } from '../core/author.ts'
import type { Call } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import { LARGE_READ } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { DeadLetter, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { headOf } from '../lib/head-of.ts'
import { RETRIED, withoutUndone } from '../lib/undone-retries.ts'
import { type Actor, createDeadLetterWork, type LetterKey, namedIn } from './dead-letter-work.ts'
import { createFindLetter, DROPPED, letterNotFound } from './find-letter.ts'
import { countGroups, messageIdOf, textOf } from './letter-groups.ts'
import { createRecoveries } from './letter-recovery.ts'
import { createLettersOfJobs } from './letters-of-jobs.ts'
import type { LongWork } from './long-work.ts'
import { createMatching, type Filter, type Place } from './matching-letters.ts'
import { createMessageOfMail } from './message-of-mail.ts'
import type { deadLetters } from './operations/messages.ts'
import { OUTBOX_QUEUE } from './outbox.ts'
import { createRetries } from './retried-letters.ts'
import { createRetryWithdrawal } from './retry-withdrawal.ts'
import { createDropNotes } from './undelivered.ts'

type Service = ServiceOf<typeof deadLetters>
type OneOrAll = Parameters<Service['retry']>[0] & { reason?: string }

/** Maximum characters of a letter's summary. */
const SHOWN = 200

/** Operations on the dead letters of all queues. */
export function createDeadLetters(deps: {
  store: Pick<Store, 'jobs' | 'journal' | 'kv' | 'erasing' | 'onSignal'>
  longWork: LongWork
  now(): number
}): Service {
  const withRetry = createRetryReader(deps.store.journal)
  const withRecovery = createRecoveries(deps.store.journal)
  const withMayAnswer = createMayAnswer(deps.store.journal)
  const find = createFindLetter(deps.store)
  const retried = createLettersOfJobs({ kv: deps.store.kv, ofKind: deps.longWork.ofKind })
  const act = createAct(deps.store, retried, deps.now)
  const withdraw = createRetryWithdrawal(deps.store, retried, deps.now)
  const matching = createMatching(deps.store, retried.of)

  /**
   * Up to `limit` of the letters that match a filter, oldest first, and the number of all that
   * match. `own`: the job that acts on them.
   */
  async function oldest(filter: Filter, limit: number, own?: string) {
    const found: LetterKey[] = []
    for await (const letter of matching(filter, { own })) found.push(keyOf(letter))
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
