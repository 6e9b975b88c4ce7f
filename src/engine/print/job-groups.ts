import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { isTerminal, listText, shortId } from '../../lib/short-text.ts'
import { whatHolds } from '../../lib/what-holds.ts'
import { laterVerb, shortJobId } from './job-words.ts'
import { shortError } from './letter-causes.ts'

/** Maximum number of groups that are listed. */
const MOST_LISTED = 12
/** Maximum characters of a text in the list. A cause is shown whole. */
const LONGEST_TEXT = 100
const LONGEST_CAUSE = 300

const COLUMNS: readonly Column[] = [
  { title: 'count' },
  { title: 'outcome' },
  { title: 'next', leftOut: 2 },
  { title: 'why', least: 24, wraps: true },
  { title: 'example', least: 8, keepsEnd: true, leftOut: 1 },
  { title: 'text', least: 24 },
]

/** The messages or events of a job by outcome and cause; none if all are done. */
export function groupLines({ id, kind, groups, messages }: JsonObject): string[] {
  const all = objectsIn(groups ?? null)
  if (all.every(({ outcome }) => outcome === 'done')) return []
  const rows = all
    .slice(0, MOST_LISTED)
    .map(({ count, outcome, nextAt, example, ...why }) => [
      count ?? 0,
      wordOf(String(outcome), kind),
      typeof nextAt === 'number' ? nextOf(nextAt) : '',
      listText(whyOf(why) || waitOf(outcome, example, messages), LONGEST_CAUSE),
      isJsonObject(example) ? shortId(example.id ?? '') : '',
      isJsonObject(example) ? listText(String(example.text ?? ''), LONGEST_TEXT) : '',
    ])
  const many = all.reduce((sum, { count }) => sum + Number(count), 0)
  const isCut = all.length > rows.length
  const shown = isCut ? `${rows.length} of ${all.length} causes shown. ` : ''
  const command = commandText('job items', shortJobId(id))
  const isListed = isCut || many > rows.length
  const more = isListed
    ? [paragraph('', `${shown}All ${many} ${kind === 'replay' ? 'events' : 'messages'}: ${command}`)]
    : []
  return ['', lineTable(COLUMNS, rows), ...more]
}

function wordOf(outcome: string, kind: unknown): string {
  const word = kind === 'replay' ? outcome : retriedWord(outcome)
  return outcome === 'dead' ? paint('red', word) : word
}

function nextOf(at: number): string {
  if (!isTerminal()) return new Date(at).toISOString()
  return at <= Date.now() ? 'now' : `in ${ageText(at - Date.now())}`
}

/** Why the example of waiting messages waits. */
function waitOf(outcome: unknown, example: Json | undefined, messages: Json | undefined): string {
  if (outcome !== 'waiting' || !isJsonObject(example)) return ''
  return whatHolds(objectsIn(messages ?? null).find(({ id }) => id === example.id) ?? {}) ?? ''
}

function whyOf({ error, later }: JsonObject): string {
  const cause = error === undefined ? '' : shortError(String(error))
  if (!isJsonObject(later)) return cause
  return [cause, laterVerb(later)].filter(Boolean).join('; ')
}
