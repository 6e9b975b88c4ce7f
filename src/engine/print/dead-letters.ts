import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { age, listAge, listText, shortId } from '../../lib/short-text.ts'
import { humanStartedJob } from './jobs.ts'
import { humanLetter } from './letter.ts'
import { LETTER_COLUMNS, lastError, letterCells, shortError } from './letter-causes.ts'
import { recoveryLines } from './letter-recovery.ts'

export const printers: Printers = {
  'dead-letter-list': humanLetters,
  'dead-letter-groups': humanLetterGroups,
  'dead-letter-show': humanLetter,
  'dead-letter-retry': humanLetterAction('retried'),
  'dead-letter-drop': humanLetterAction('dropped'),
  'dead-letter-bulk': humanStartedJob,
  'dead-letter-retries': humanRetries,
}

/** Maximum characters of an error in a list. */
const LONGEST_ERROR = 120

const [ID, AGE, ...ABOUT] = LETTER_COLUMNS
const COLUMNS: readonly Column[] = [
  ...[ID, AGE].flatMap((column) => column ?? []),
  { title: 'queue', leftOut: 2 },
  { title: 'route' },
  { title: 'why', least: 16 },
  ...ABOUT,
]

/** `dead-letter-list`, newest first, each with its error. */
export function humanLetters(result: Json): Printable {
  const rows = objectsIn(result).map((one) => {
    const [id, at, ...about] = letterCells(one)
    const why = `${listText(whyOf(one), LONGEST_ERROR)}${retryIn(one)}`
    return [id, at, one.queue, one.group, why, ...about]
  })
  return rows.length === 0 ? noData('No dead letters.') : lineTable(COLUMNS, rows)
}

const GROUP_COLUMNS: readonly Column[] = [
  { title: 'count' },
  { title: 'queue', leftOut: 2 },
  { title: 'route' },
  { title: 'code', leftOut: 1 },
  { title: 'first' },
  { title: 'last' },
  { title: 'why', least: 30 },
]

/** `dead-letter-groups`. */
export function humanLetterGroups(result: Json): Printable {
  return objectsIn(result).length === 0 ? noData('No dead letters.') : letterGroups(result)
}

/** The causes of dead letters, the most frequent first. */
export function letterGroups(result: Json): string {
  const rows = objectsIn(result).map((one) => {
    const { count, queue, group, code, first, last, common } = one
    const why = `${listText(shortError(String(common)), LONGEST_ERROR)}${retryIn(one)}`
    return [count, queue, group, code, listAge(first), listAge(last), why]
  })
  const proofs = objectsIn(result).flatMap((one) => recoveryLines(one).map((line) => `${one.group}: ${line}`))
  const table = lineTable(GROUP_COLUMNS, rows)
  return proofs.length === 0 ? table : `${table}\n\n${proofs.join('\n')}`
}

const RETRY_COLUMNS: readonly Column[] = [
  { title: 'job' },
  { title: 'age', piped: 'time' },
  { title: 'by', leftOut: 1 },
  { title: 'route', least: 8 },
  { title: 'retried', leftOut: 2 },
  { title: 'outcomes' },
]
const RETRIED_COLUMNS: readonly Column[] = [
  ...[ID, AGE].flatMap((column) => column ?? []),
  { title: 'outcome' },
  { title: 'text', least: 16 },
]

/** A retry of one dead letter does not start a job. */
const NO_JOBS = `No job has retried dead letters within a week. A retry of one does not start a job:
\`trivium message list --route ROUTE\` shows their messages and outcomes.`

/** `dead-letter-retries`: one job a row; with `job`, its messages below. */
export function humanRetries(result: Json): Printable {
  const jobs = objectsIn(result)
  if (jobs.length === 0) return noData(NO_JOBS)
  const rows = jobs.map(({ job, startedAt, by, target, retried, outcomes }) => {
    const { group, queue = 'all' } = Object(target)
    return [job, listAge(startedAt), by, group ?? queue, retried, talliesOf(outcomes)]
  })
  const list = lineTable(RETRY_COLUMNS, rows)
  const messages = jobs.flatMap((one) => objectsIn(one.messages))
  if (messages.length === 0) return list
  const named = messages.map(({ id, at, outcome, text, summary, subject }) => {
    return [
      shortId(id),
      listAge(at),
      retriedWord(String(outcome)),
      listText(String(subject ?? summary ?? text ?? ''), LONGEST_ERROR),
    ]
  })
  return `${list}\n\n${lineTable(RETRIED_COLUMNS, named)}`
}

function talliesOf(outcomes: Json | undefined): string {
  return Object.entries(Object(outcomes))
    .flatMap(([outcome, count]) =>
      Number(count) > 0 ? [`${count} ${retriedWord(outcome, Number(count))}`] : [],
    )
    .join(', ')
}

/** The last error; before it the reason of the dead letter, unless its attempts were used up. */
function whyOf(one: JsonObject): string {
  const error = shortError(lastError(one))
  return one.reason === 'attempts' ? error : `${one.reason}: ${error}`
}

function retryIn({ retriedAt }: JsonObject): string {
  return retriedAt === undefined ? '' : ` (retried ${age(retriedAt)} ago, failed again)`
}

/** `dead-letter-retry` and `-drop`, for one or all matching dead letters. */
function humanLetterAction(participle: 'retried' | 'dropped'): (result: Json, args: JsonObject) => string {
  return (result, args) => {
    const count = pathGet(result, 'count')
    const more = pathGet(result, 'more') === true ? ' There are more: run it again.' : ''
    const text = humanLetterCount(participle, typeof count === 'number' ? count : 1)
    return args.id === undefined ? text + more : text
  }
}

/** The number of dead letters that were retried or dropped. */
export function humanLetterCount(participle: 'retried' | 'dropped', count: number): string {
  const letters = counted(count, 'dead letter')
  if (participle === 'dropped' || count === 0) return `${letters} ${participle}.`
  return `${letters} ${count === 1 ? 'waits' : 'wait'} to be tried again.`
}
