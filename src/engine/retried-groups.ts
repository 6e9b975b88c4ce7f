import { shownAuthor } from '../core/author.ts'
import { textAt } from '../core/json.ts'
import type { JobCause, JobGroup } from '../core/long-job.ts'
import { secondOf } from '../core/readable.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { scheduledRunText } from '../lib/scheduled-run.ts'
import { DROPPED } from './find-letter.ts'
import { type Grouped, groupsOf, rankOf } from './job-groups.ts'
import { lastOf, messageIdOf, recipientOf, textOf } from './letter-groups.ts'
import { letterText } from './letter-text.ts'
import { entriesOf, type Settled } from './retried-outcomes.ts'

type Stores = Pick<Store, 'jobs' | 'journal'>

/** Letters that are read at once. */
const READ_AT_ONCE = 50
/** Maximum characters of the text of an example. */
const LONGEST_TEXT = 160

/** The letters of a retry by outcome and cause, with one example each. `erased`: how many were erased. */
export async function retriedGroups(
  stores: Stores,
  letters: readonly Settled[],
  { startedAt, erased }: { startedAt: number; erased: number },
): Promise<JobGroup[]> {
  const rows: Grouped[] = []
  for (let at = 0; at < letters.length; at += READ_AT_ONCE)
    rows.push(
      ...(await Promise.all(
        letters.slice(at, at + READ_AT_ONCE).map((letter) => causeOf(stores, letter, startedAt)),
      )),
    )
  const groups = await Promise.all(groupsOf(rows).map((group) => withText(stores, group)))
  return erased > 0 ? [...groups, { outcome: 'erased', count: erased }] : groups
}

/** Maximum number of failed letters whose causes a list shows, and of their causes. */
const MOST_SAMPLED = 20
const MOST_CAUSES = 2

/** Why letters failed again or are tried again, from the most urgent ones. */
export async function causesOf(
  stores: Stores,
  letters: readonly Settled[],
  startedAt: number,
): Promise<JobCause[]> {
  const failed = letters.filter(({ outcome }) => outcome === 'dead' || outcome === 'retrying')
  const sample = failed.toSorted((one, other) => rankOf(one) - rankOf(other)).slice(0, MOST_SAMPLED)
  const rows = await Promise.all(sample.map((letter) => causeOf(stores, letter, startedAt)))
  const causes = groupsOf(rows).flatMap(({ error, pattern, nextAt, later }): JobCause[] =>
    error === undefined ? [] : [{ error, ...defined({ pattern, nextAt }), ...(later && { isOver: true }) }],
  )
  // A message may be tried again, and another one may have failed, for the same reason.
  const first = new Map(causes.toReversed().map((cause) => [cause.pattern, cause]))
  return causes.filter((cause) => first.get(cause.pattern) === cause).slice(0, MOST_CAUSES)
}

/** A letter of a retry with its last error, or why it was dropped. */
export async function causeOf(stores: Stores, letter: Settled, startedAt: number): Promise<Grouped> {
  const { messageId, id, outcome, queue, later, error, nextAt } = letter
  const run = { text: scheduledRunText({ queue, id }) }
  const row = { id: messageId ?? id, outcome, queue, ...defined({ later, ...run }) }
  if (later) return { ...row, ...(await failureOf(stores, messageId, startedAt)) }
  if (outcome === 'dead' || outcome === 'withdrawn')
    return { ...row, ...(await deadOf(stores, letter)), ...defined(run) }
  if (outcome === 'dropped') return { ...row, ...(await dropOf(stores, messageId)) }
  if (outcome !== 'retrying') return row
  const cause = messageId === undefined ? { error, nextAt } : await retryingOf(stores, messageId)
  return { ...row, ...defined(cause) }
}

async function deadOf({ jobs }: Stores, { id, queue }: Settled) {
  const letter = await jobs.deadLetters.get(id, queue)
  if (!letter) return undefined
  const { code, message: error } = lastOf(letter)
  // The text of a message is read for the example only.
  const text = messageIdOf(letter) === undefined ? textOf(letter).slice(0, LONGEST_TEXT) : undefined
  const to = recipientOf(letter)
  const about = text && to !== undefined ? `reply to ${to}: ${text}` : text
  return { group: letter.group, code, error, ...defined({ text: about || undefined }) }
}

/** Why and by whom a message was dropped: `by ada, 15:42: taken out of the queue by an erasure`. */
async function dropOf({ journal }: Stores, messageId: string | undefined) {
  const history = messageId === undefined ? [] : await journal.history(messageId)
  const note = history.findLast(({ what }) => what === DROPPED)
  if (!note) return undefined
  const [by, reason] = [textAt(note.detail, 'by'), textAt(note.detail, 'reason')]
  const who = [by && `by ${shownAuthor(by)}`, secondOf(note.at)].filter(Boolean).join(', ')
  return { error: [who, reason].filter(Boolean).join(': ') }
}

/** How a message failed in a retry, before it was retried or dropped once more. */
async function failureOf({ journal }: Stores, messageId: string | undefined, startedAt: number) {
  const history = messageId === undefined ? [] : await journal.history(messageId)
  const failed = entriesOf(history, startedAt).findLast(({ detail }) => textAt(detail, 'error'))
  return defined({ error: textAt(failed?.detail, 'error') })
}

/** The last failed attempt on a message, and when the next one begins. */
async function retryingOf({ journal }: Stores, messageId: string) {
  const history = await journal.history(messageId)
  const failed = history.findLast(({ road, what }) => road === 'dispatch' && what === 'failed')
  const { delay } = Object(failed?.detail)
  const [error, group] = [textAt(failed?.detail, 'error'), textAt(failed?.detail, 'route')]
  const nextAt = failed && delay !== undefined ? failed.at + Number(delay) : undefined
  return defined({ error, group, nextAt })
}

async function withText(stores: Stores, group: JobGroup): Promise<JobGroup> {
  const { example, queue = '' } = group
  if (!example) return group
  const messageId = queue === 'dispatch' ? example.id : undefined
  const text = (await letterText(stores, { ...example, queue, messageId })) ?? example.text
  return { ...group, example: { ...example, ...defined({ text }) } }
}
