import type { JobItem, JobItems, LongJob } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isWantedOutcome } from '../lib/item-outcomes.ts'
import { rankOf } from './job-groups.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'
import { type ItemQuery, noPage } from './replay-items.ts'
import { causeOf } from './retried-groups.ts'
import { createOutcomes, rowsOf } from './retried-letters.ts'

/**
 * The messages of a job that retried or dropped dead letters: those that need someone first. At most
 * the first 1,000 of a job are known.
 */
export function createRetriedItems(deps: {
  store: Pick<Store, 'jobs' | 'journal'>
  retried: { of(job: string): Promise<RememberedLetter[]> }
}) {
  const { store, retried } = deps
  const outcomesOf = createOutcomes(store)
  return async (job: LongJob, { outcome, after = '0', limit }: ItemQuery): Promise<JobItems> => {
    if (job.target.do === 'drop') return droppedItems(job, { outcome, after, limit })
    const letters = await outcomesOf(await retried.of(job.id))
    const wanted = letters
      .filter((letter) => isWantedOutcome(letter.outcome, outcome))
      .toSorted((one, other) => rankOf(one) - rankOf(other))
    const start = startOf(after)
    const shown = wanted.slice(start, start + limit)
    const rows = await rowsOf(store, shown)
    const items = await Promise.all(
      shown.map(async (letter, at): Promise<JobItem> => {
        const { error, nextAt } = await causeOf(store, letter, job.startedAt)
        const { id, queue, later, ...row } = rows[at] ?? letter
        const text = textOf(row)
        return { id, queue, outcome: letter.outcome, ...defined({ text, error, nextAt, later }) }
      }),
    )
    return { items, ...(start + limit < wanted.length && { next: String(start + limit) }) }
  }
}

/** Throws `bad_request`. */
function startOf(after: string): number {
  if (!/^\d{1,9}$/.test(after)) throw noPage(after)
  return Number(after)
}

function textOf(row: object): string | undefined {
  const { subject, summary, text }: { subject?: unknown; summary?: unknown; text?: unknown } = row
  const first = [subject, summary, text].find((each) => typeof each === 'string')
  return typeof first === 'string' ? first : undefined
}

function droppedItems({ result }: LongJob, { outcome, after = '0', limit }: ItemQuery): JobItems {
  const { messages = [] }: { messages?: readonly string[] } = Object(result)
  const wanted = isWantedOutcome('dropped', outcome) ? messages : []
  const start = startOf(after)
  const items = wanted
    .slice(start, start + limit)
    .map((id) => ({ id, queue: 'dispatch', outcome: 'dropped' }))
  return { items, ...(start + limit < wanted.length && { next: String(start + limit) }) }
}
