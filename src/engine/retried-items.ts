import type { JobItem, JobItems, LongJob } from '../core/long-job.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isWantedOutcome } from '../lib/item-outcomes.ts'
import { isInProgress } from '../lib/outcomes.ts'
import { rankOf } from './job-groups.ts'
import { letterText } from './letter-text.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'
import { type ItemQuery, type ItemsOf, noPage } from './replay-items.ts'
import { causeOf } from './retried-groups.ts'
import { createOutcomes } from './retried-letters.ts'
import { entriesOf, type Settled } from './retried-outcomes.ts'

/**
 * The messages of a job that retried or dropped dead letters: those that need someone first. At most
 * the first 1,000 of a job are known.
 */
export function createRetriedItems(deps: {
  store: Pick<Store, 'jobs' | 'journal'>
  retried: { of(job: string): Promise<RememberedLetter[]> }
}): ItemsOf {
  const { store, retried } = deps
  const outcomesOf = createOutcomes(store)
  return async (job, { outcome, after = '0', limit }, caller): Promise<JobItems> => {
    const start = startOf(after)
    if (job.target.do === 'drop') {
      const { items, ...rest } = droppedItems(job, { outcome, after, limit })
      const texts = await Promise.all(items.map((item) => letterText(store, messageIn(item), caller)))
      return { items: items.map((item, at) => ({ ...item, ...defined({ text: texts[at] }) })), ...rest }
    }
    const letters = await outcomesOf(await retried.of(job.id))
    const wanted = letters
      .filter((letter) => isWantedOutcome(letter.outcome, outcome))
      .toSorted((one, other) => rankOf(one) - rankOf(other))
    const shown = wanted.slice(start, start + limit)
    const items = await Promise.all(
      shown.map(async (letter): Promise<JobItem> => {
        const { id, queue, messageId, later } = letter
        const [{ error, nextAt, group = '', text: own }, about, endedAt] = await Promise.all([
          causeOf(store, letter, job.startedAt),
          letterText(store, letter, caller),
          endOf(store, letter, job.startedAt),
        ])
        const row = { id: messageId ?? id, queue, outcome: letter.outcome }
        // The group of an unsent reply is its gateway.
        const mayRead = queue !== 'outbox' || (caller.gateways?.includes(group) ?? true)
        const text = about ?? (mayRead ? own : undefined) ?? UNKNOWN[queue]
        return { ...row, ...defined({ text, error, nextAt, later, endedAt }) }
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

/** The title of a letter whose text is unknown. */
const UNKNOWN: Readonly<Record<string, string>> = { outbox: 'a reply' }

const messageIn = ({ id, queue }: JobItem) => ({ id, queue, messageId: id })

/** When a retried letter ended, in this retry; undefined while it is in progress, or if it is not known. */
async function endOf(
  { journal }: Pick<Store, 'journal'>,
  { messageId, outcome, endedAt }: Settled,
  startedAt: number,
): Promise<number | undefined> {
  if (endedAt !== undefined || messageId === undefined) return endedAt
  if (outcome === 'unreachable' || isInProgress({ [outcome]: 1 })) return undefined
  return entriesOf(await journal.history(messageId), startedAt).at(-1)?.at
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
