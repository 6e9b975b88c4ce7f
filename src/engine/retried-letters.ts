import type { LaterActions, LongJob } from '../core/long-job.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { DEAD_LETTERS_KIND } from './dead-letter-work.ts'
import { MOST_LETTERS, type RememberedLetter } from './letters-of-jobs.ts'
import type { LongWork } from './long-work.ts'
import type { deadLetters } from './operations/messages.ts'
import { rowOf } from './search.ts'

type Retries = ServiceOf<typeof deadLetters>['retries']

/** Maximum number of jobs that a list examines. */
const MOST_JOBS = 1_000
/** Maximum number of jobs in a list of jobs that have their outcomes: the newest. */
const MOST_DESCRIBED = 20
/** Maximum number of listed messages of a job. */
const MOST_LISTED = 200

/** Outcomes at the top of the list, in this order: those that need someone first. */
const FIRST = ['dead', 'undelivered', 'bounced', 'retrying', 'replying', 'approval', 'running', 'waiting']

/**
 * `dead-letter-retries`: the jobs that retried dead letters, newest first, with the outcomes of
 * their messages. A letter that died again and was retried or dropped since stays `dead`.
 */
export function createRetries(deps: {
  store: Pick<Store, 'jobs' | 'journal'>
  retried: { of(job: string): Promise<RememberedLetter[]> }
  work: Pick<LongWork, 'ofKind' | 'describe'> & { service: Pick<LongWork['service'], 'show'> }
}): Retries {
  const { store, retried, work } = deps
  const outcomesOf = createOutcomes(store)
  work.describe(DEAD_LETTERS_KIND, (jobs) =>
    withOutcomes(jobs, async (id) => outcomesOf(await retried.of(id))),
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
        const tally = tallyOf(letters, erasedOf(job, letters))
        return { ...retryOf(job), ...tally, ...(id && { messages: await rowsOf(store, letters) }) }
      }),
    )
  }
}

/** Adds to the newest retries the outcomes of their messages. */
async function withOutcomes(
  jobs: readonly LongJob[],
  lettersOf: (id: string) => Promise<Settled[]>,
): Promise<LongJob[]> {
  const retries = jobs.filter(({ target }) => target.do === 'retry').slice(0, MOST_DESCRIBED)
  return Promise.all(
    jobs.map(async (job) => {
      const letters = retries.includes(job) ? await lettersOf(job.id) : []
      const { retried, ...tally } = tallyOf(letters, erasedOf(job, letters))
      return retried === 0 ? job : { ...job, ...tally }
    }),
  )
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

type Settled = RememberedLetter & { outcome: string }

/**
 * Finds the outcome of the message of each letter. Other letters, such as replies, are `dead` again
 * or `retried`.
 */
function createOutcomes({ jobs, journal }: Pick<Store, 'jobs' | 'journal'>) {
  return async (letters: readonly RememberedLetter[]): Promise<Settled[]> => {
    const ids = letters.flatMap(({ messageId, later }) => (later ? [] : (messageId ?? [])))
    const outcomes = await journal.outcomesIfReachable(ids)
    const byId = new Map(ids.map((id, index) => [id, outcomes[index]]))
    return Promise.all(
      letters.map(async (letter) => {
        const { id, queue, messageId, later } = letter
        if (later) return { ...letter, outcome: 'dead' }
        if (messageId !== undefined) return { ...letter, outcome: byId.get(messageId) ?? 'expired' }
        return { ...letter, outcome: (await jobs.deadLetters.get(id, queue)) ? 'dead' : 'retried' }
      }),
    )
  }
}

/** The number of letters of an ended job that were remembered, and erased with their messages. */
function erasedOf({ result }: LongJob, known: readonly Settled[]): number {
  const count = Number(Object(result).count ?? 0)
  return Math.max(0, Math.min(count, MOST_LETTERS) - known.length)
}

/** `retried`: the number of letters whose outcomes are known, including the erased ones. */
function tallyOf(letters: readonly Settled[], erased: number) {
  const outcomes: Record<string, number> = {}
  for (const { outcome } of letters) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  if (erased > 0) outcomes.erased = erased
  const later = laterOf(letters)
  return { retried: letters.length + erased, outcomes, ...(later.length > 0 && { later }) }
}

/** What was done with those that failed again. */
function laterOf(letters: readonly Settled[]): LaterActions[] {
  const groups = Object.groupBy(
    letters.flatMap(({ later }) => later ?? []),
    ({ do: verb, job = '' }) => `${verb} ${job}`,
  )
  return Object.values(groups).flatMap((group = []) =>
    group.slice(0, 1).map((later) => ({ ...later, count: group.length })),
  )
}

/**
 * The messages of letters, those that need someone first. A letter whose message is no longer
 * stored has only its id.
 */
async function rowsOf({ journal }: Pick<Store, 'journal'>, letters: readonly Settled[]) {
  const rank = ({ outcome, later }: Settled) =>
    FIRST.includes(outcome) && !later ? FIRST.indexOf(outcome) : FIRST.length
  const shown = letters.toSorted((one, other) => rank(one) - rank(other)).slice(0, MOST_LISTED)
  return Promise.all(
    shown.map(async ({ id, queue, messageId, outcome, later }) => {
      const isReadable = messageId !== undefined && outcome !== 'unreachable'
      const message = isReadable ? await journal.get(messageId) : undefined
      const { outcome: _, ...row } = message ? rowOf(message, 'done') : { id, outcome }
      return { ...row, queue, outcome, ...defined({ later }) }
    }),
  )
}
