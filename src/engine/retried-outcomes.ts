import type { JobCause, LaterActions, LongJob } from '../core/long-job.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isInProgress } from '../lib/outcomes.ts'
import { RETRIED } from '../lib/undone-retries.ts'
import { DROPPED } from './find-letter.ts'
import { MOST_LETTERS, type RememberedLetter } from './letters-of-jobs.ts'

/**
 * The outcome of a message, or `withdrawn`; or that of a job without a message, which also has its
 * last `error` and `nextAt` while it is retried, and `endedAt` after its end.
 */
export type Fate = { outcome: string; error?: string; nextAt?: number; endedAt?: number }
export type Settled = RememberedLetter & Fate

type Described = Pick<LongJob, 'outcomes' | 'later' | 'settledAt' | 'causes'>

/** Maximum number of jobs whose final outcomes are remembered. */
const MOST_REMEMBERED = 1_000
/** How long (ms) final outcomes are remembered: a message may expire, or be sent again. */
const MEMORY_MS = 60_000
/** The same (ms) if messages are dead letters again after a later retry: another one may follow. */
const SHORT_MEMORY_MS = 3_000
/** Outcomes that only change with what is remembered about the letters of the job. */
const FINAL = new Set(['done', 'dead', 'dropped', 'merged', 'unrouted', 'suppressed', 'expired', 'withdrawn'])

/**
 * Adds to jobs that retried dead letters the outcomes of their messages and, if none is in progress,
 * when the last of them ended. Final outcomes are remembered for a minute: a list of many jobs does
 * not read all their messages each time.
 */
export function createRetryDescriptions(deps: {
  journal: Pick<Store['journal'], 'history'>
  retried: { of(job: string): Promise<RememberedLetter[]> }
  outcomesOf(letters: readonly RememberedLetter[]): Promise<Settled[]>
  /** The causes of letters that failed, or are tried again. */
  causesOf(letters: readonly Settled[], startedAt: number): Promise<JobCause[]>
  now(): number
}) {
  const kept = new Map<string, { of: string; until: number; described: Described }>()
  const describedBy = async (job: LongJob): Promise<Described> => {
    const remembered = await deps.retried.of(job.id)
    const of = `${job.state} ${remembered.length} ${remembered.filter(({ withdrawn }) => withdrawn).length} ${remembered.filter(({ later }) => later).length}`
    const known = kept.get(job.id)
    if (known?.of === of && deps.now() < known.until) return known.described
    const letters = await deps.outcomesOf(remembered)
    const { retried, ...tally } = tallyOf(letters, erasedOf(job, letters))
    if (retried === 0) return {}
    const isSettled = job.state !== 'running' && !isInProgress(tally.outcomes)
    const settledAt = isSettled ? await settledTime(deps.journal, job, letters) : undefined
    const causes = await deps.causesOf(letters, job.startedAt)
    const described = { ...tally, ...(causes.length > 0 && { causes }), ...defined({ settledAt }) }
    kept.delete(job.id)
    const ends = letters.map(({ outcome, later }) => later?.now ?? outcome)
    const memory = letters.some(({ later }) => later?.now === 'dead') ? SHORT_MEMORY_MS : MEMORY_MS
    if (isSettled && ends.every((outcome) => FINAL.has(outcome)))
      kept.set(job.id, { of, until: deps.now() + memory, described })
    for (const id of kept.keys()) if (kept.size > MOST_REMEMBERED) kept.delete(id)
    return described
  }
  return (jobs: readonly LongJob[]): Promise<LongJob[]> =>
    Promise.all(
      jobs.map(async (job) => (job.target.do === 'retry' ? { ...job, ...(await describedBy(job)) } : job)),
    )
}

/** The number of letters of an ended job that were remembered, and erased with their messages. */
export function erasedOf({ result }: LongJob, known: readonly Settled[]): number {
  const count = Number(Object(result).count ?? 0)
  return Math.max(0, Math.min(count, MOST_LETTERS) - known.length)
}

/** `retried`: the number of letters whose outcomes are known, including the erased ones. */
export function tallyOf(letters: readonly Settled[], erased: number) {
  const outcomes: Record<string, number> = {}
  for (const { outcome } of letters) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  if (erased > 0) outcomes.erased = erased
  const later = laterOf(letters)
  return { retried: letters.length + erased, outcomes, ...(later.length > 0 && { later }) }
}

/** What was done with those that were dead letters again. */
function laterOf(letters: readonly Settled[]): LaterActions[] {
  const groups = Object.groupBy(
    letters.flatMap(({ later, withdrawn }) => (later ? { ...later, ...defined({ withdrawn }) } : [])),
    ({ do: verb, job = '', now = '', withdrawn = false }) => `${verb} ${job} ${now} ${withdrawn}`,
  )
  return Object.values(groups).flatMap((group = []) =>
    group.slice(0, 1).map((later) => ({ ...later, count: group.length })),
  )
}

/** When the last message of a retry ended; undefined if that is not known. */
async function settledTime(
  journal: Pick<Store['journal'], 'history'>,
  { startedAt, endedAt = startedAt }: LongJob,
  letters: readonly Settled[],
): Promise<number | undefined> {
  const times = await Promise.all(
    letters.map(async ({ messageId, outcome, endedAt: at }) => {
      if (at !== undefined) return at
      const notes =
        messageId === undefined || outcome === 'unreachable' ? [] : await journal.history(messageId)
      return entriesOf(notes, startedAt).at(-1)?.at
    }),
  )
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(endedAt, ...known)
}

/** The roads whose entries are part of the work on a message. */
const WORK = new Set<Note['road']>(['dispatch', 'outbox'])

/** The entries between the retry that began at `startedAt`, and the next time it was retried or dropped. */
export function entriesOf(history: readonly Note[], startedAt: number): Note[] {
  const notes = history.filter(({ road, at }) => WORK.has(road) && at >= startedAt)
  const start = notes.findIndex(({ what }) => what === RETRIED)
  if (start === -1) return []
  const rest = notes.slice(start + 1)
  const next = rest.findIndex(({ what }) => what === RETRIED || what === DROPPED)
  return next === -1 ? rest : rest.slice(0, next)
}
