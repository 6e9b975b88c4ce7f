import type { JobGroup } from '../core/long-job.ts'
import { defined } from '../lib/defined.ts'
import { patternOf, sharedParts, VARYING } from '../lib/error-pattern.ts'
import { headOf } from '../lib/head-of.ts'

/** A message or event for `groupsOf`: `id` is that of its page, `letter` the place of a dead letter. */
export type Grouped = Pick<
  JobGroup,
  'outcome' | 'error' | 'nextAt' | 'later' | 'code' | 'queue' | 'group'
> & {
  id: string
  text?: string
}

/** Outcomes at the top of a list, in this order: those that need someone first. */
const FIRST = [
  'dead',
  'undelivered',
  'bounced',
  'withdrawn',
  'retrying',
  'replying',
  'approval',
  'running',
  'waiting',
]
/** Maximum characters of an error. */
const LONGEST_ERROR = 300

/** Where an outcome is in a list; one that was handled since is not urgent. */
export function rankOf({ outcome, later }: Pick<JobGroup, 'outcome' | 'later'>): number {
  return FIRST.includes(outcome) && !later ? FIRST.indexOf(outcome) : FIRST.length
}

/** Messages or events by outcome and cause: those that need someone first, then the most frequent. */
export function groupsOf(rows: readonly Grouped[]): JobGroup[] {
  const groups = Map.groupBy(rows, ({ outcome, later, queue, group, code, error = '' }) =>
    JSON.stringify([outcome, later?.do, later?.job, later?.now, queue, group, code, patternOf(error)]),
  )
  return [...groups.values()]
    .flatMap((group) => groupOf(group))
    .sort((one, other) => rankOf(one) - rankOf(other) || other.count - one.count)
}

function groupOf(rows: readonly Grouped[]): JobGroup[] {
  const [first] = rows
  if (!first) return []
  const { outcome, later, queue, group, code, error, id, text } = first
  const times = rows.flatMap(({ nextAt }) => nextAt ?? [])
  const texts = rows.map((row) => (row.error ?? '').split(VARYING))
  const common = texts.reduce<readonly string[]>(sharedParts, texts[0] ?? []).join('')
  return [
    {
      outcome,
      count: rows.length,
      ...(error !== undefined && { error: headOf(common, LONGEST_ERROR), pattern: patternOf(error) }),
      ...(times.length > 0 && { nextAt: Math.min(...times) }),
      ...defined({ later, queue, group, code }),
      example: { id, ...defined({ text }) },
    },
  ]
}
