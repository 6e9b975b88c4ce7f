import type { LongJob } from '../core/long-job.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { RETRIED } from '../lib/undone-retries.ts'
import { DEAD_LETTERS_KIND } from './dead-letter-work.ts'
import { rankOf } from './job-groups.ts'
import { letterText } from './letter-text.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'
import type { LongWork } from './long-work.ts'
import type { deadLetters } from './operations/messages.ts'
import { causesOf, retriedGroups } from './retried-groups.ts'
import { createRetryDescriptions, erasedOf, type Fate, type Settled, tallyOf } from './retried-outcomes.ts'
import { rowOf } from './search.ts'

type Retries = ServiceOf<typeof deadLetters>['retries']

/** Maximum number of jobs that a list examines. */
const MOST_JOBS = 1_000
/** Maximum number of listed messages of a job. */
const MOST_LISTED = 200

/**
 * `dead-letter-retries`: the jobs that retried dead letters, newest first, with the outcomes of
 * their messages. A letter that died again and was retried or dropped since stays `dead`, and one
 * that a cancellation made a dead letter again stays `withdrawn`.
 */
export function createRetries(deps: {
  store: Pick<Store, 'jobs' | 'journal'>
  retried: { of(job: string): Promise<RememberedLetter[]> }
  work: Pick<LongWork, 'ofKind' | 'describe'> & { service: Pick<LongWork['service'], 'show'> }
  now(): number
}): Retries {
  const { store, retried, work, now } = deps
  const outcomesOf = createOutcomes(store)
  work.describe(
    DEAD_LETTERS_KIND,
    createRetryDescriptions({
      journal: store.journal,
      retried,
      outcomesOf,
      causesOf: (letters, startedAt) => causesOf(store, letters, startedAt),
      now,
    }),
  )
  return async ({ job: id, since = 0, limit, ...filter }) => {
    const all = id === undefined ? (await work.ofKind(DEAD_LETTERS_KIND)).slice(0, MOST_JOBS) : []
    const wanted = id === undefined ? all : [await work.service.show({ id })]
    const found = wanted.filter(
      ({ kind, target, startedAt }) =>
        kind === DEAD_LETTERS_KIND &&
        target.do === 'retry' &&
        (filter.queue ?? target.queue) === target.queue &&
        (filter.group ?? target.group) === target.group &&
        NARROWING.every((key) => isSame(filter[key], target[key])) &&
        startedAt >= since,
    )
    return Promise.all(
      found.slice(0, limit).map(async (job) => {
        const letters = await outcomesOf(await retried.of(job.id))
        const erased = erasedOf(job, letters)
        const retry = { ...retryOf(job), ...tallyOf(letters, erased) }
        if (id === undefined) return retry
        const groups = await retriedGroups(store, letters, { startedAt: job.startedAt, erased })
        const first = letters.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, MOST_LISTED)
        return { ...retry, groups, messages: await rowsOf(store, first) }
      }),
    )
  }
}

/** Filters that narrow a retry. A retry without such a filter included every value. */
const NARROWING = ['code', 'pattern'] as const

function isSame(wanted: string | undefined, used: unknown): boolean {
  return wanted === undefined || used === undefined || used === wanted
}

function retryOf(job: LongJob) {
  const { id, state, by, startedAt, endedAt, target, done, total, error } = job
  return { job: id, state, by, startedAt, target, done, total, ...defined({ endedAt, error }) }
}

/**
 * Finds the outcome of the message of each letter, or of its job if it has no message. `retried`: the
 * job has ended, and how is no longer known.
 */
export function createOutcomes({ jobs, journal }: Pick<Store, 'jobs' | 'journal'>) {
  return async (letters: readonly RememberedLetter[]): Promise<Settled[]> => {
    const ids = letters.flatMap(({ messageId, later, withdrawn }) =>
      later?.do === 'drop' || (withdrawn && !later) ? [] : (messageId ?? []),
    )
    const outcomes = await journal.outcomesIfReachable(ids)
    const byId = new Map(ids.map((id, index) => [id, outcomes[index]]))
    return Promise.all(
      letters.map(async (letter) => {
        const { id, queue, messageId, later, withdrawn } = letter
        if (later?.do === 'retry') {
          const known =
            messageId === undefined ? (await fateOf(jobs, queue, id)).outcome : byId.get(messageId)
          const now = known === 'retried' ? undefined : known
          return {
            ...letter,
            outcome: withdrawn ? 'withdrawn' : 'dead',
            later: { ...later, ...defined({ now }) },
          }
        }
        if (withdrawn) return { ...letter, outcome: 'withdrawn' }
        if (later) return { ...letter, outcome: 'dead' }
        if (messageId !== undefined) {
          const outcome = byId.get(messageId) ?? 'expired'
          const isDropped = outcome === 'dropped' && (await hadFailed(journal, messageId))
          return { ...letter, ...(isDropped ? { outcome: 'dead', later: DROP } : { outcome }) }
        }
        return { ...letter, ...(await fateOf(jobs, queue, id)) }
      }),
    )
  }
}

const DROP = { do: 'drop' } as const

/** Whether a dropped message had failed again after its last retry. */
async function hadFailed(journal: Pick<Store['journal'], 'history'>, id: string): Promise<boolean> {
  const notes = (await journal.history(id)).filter(({ road }) => road === 'dispatch')
  const retried = notes.findLastIndex(({ what }) => what === RETRIED)
  return notes.slice(retried + 1).some(({ what }) => what === 'dead')
}

async function fateOf(jobs: Store['jobs'], queue: string, id: string): Promise<Fate> {
  // First this: a job that ends meanwhile has an end then.
  const job = await jobs.unfinished(queue, id)
  if (job) return { outcome: job.state, ...defined({ error: job.error?.message, nextAt: job.nextAt }) }
  const end = await jobs.end(queue, id)
  return end ? { outcome: end.state, endedAt: end.at } : { outcome: 'retried' }
}

/**
 * The messages of letters, in the same order. A letter whose message is no longer
 * stored has only its id.
 */
async function rowsOf({ journal }: Pick<Store, 'journal'>, letters: readonly Settled[]) {
  return Promise.all(
    letters.map(async ({ id, queue, messageId, outcome, later, error, nextAt }) => {
      const isReadable = messageId !== undefined && outcome !== 'unreachable'
      const message = isReadable ? await journal.get(messageId) : undefined
      const text = message ? undefined : await letterText({ journal }, { id, queue, messageId })
      const { outcome: _, ...row } = message ? rowOf(message, 'done') : { id, outcome, ...defined({ text }) }
      return { ...row, queue, outcome, ...defined({ later, error, nextAt }) }
    }),
  )
}
