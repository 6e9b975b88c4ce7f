import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { laterWord, sinceWord } from '../../lib/later-word.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { isTerminal, listAgo, listText, shortId } from '../../lib/short-text.ts'
import { whatHolds } from '../../lib/what-holds.ts'
import { shortJobId } from './job-words.ts'
import { shortError } from './letter-causes.ts'

const COLUMNS: readonly Column[] = [
  { title: 'id', least: 8, keepsEnd: true },
  { title: 'outcome' },
  { title: 'published', leftOut: 3 },
  { title: 'why', least: 22, leftOut: 1 },
  { title: 'text', least: 28, cutLast: true },
  { title: 'ended', leftOut: 2 },
]
const LONGEST_TEXT = 100

/** `job-items`: a page, with the command for the next one. */
export function humanItems(result: Json, args?: JsonObject): Printable {
  const next = pathGet(result, 'next')
  const more =
    next === undefined
      ? ''
      : commandText('job items', shortJobId(args?.id ?? 'ID'), ...filterOf(args), '--after', next)
  const rows = objectsIn(pathGet(result, 'items')).map((item) => [
    shortId(item.id ?? ''),
    outcomeOf(item),
    typeof item.at === 'number' ? timeOf(item.at) : '',
    listText(whyOf(item), LONGEST_TEXT),
    listText(String(item.text ?? ''), LONGEST_TEXT),
    endOf(item),
  ])
  const goesOn = paragraph('  → ', `${more} has the next ones.`)
  if (rows.length === 0)
    return next === undefined ? noData('There are no such items.') : `None so far.\n${goesOn}`
  return [lineTable(COLUMNS, rows), ...(next === undefined ? [] : ['', goesOn])].join('\n')
}

function filterOf(args: JsonObject | undefined): unknown[] {
  return args?.outcome === undefined ? [] : ['--outcome', args.outcome]
}

/** Events have a time, and retried messages have not. */
function outcomeOf({ outcome, at }: JsonObject): string {
  const word = at === undefined ? retriedWord(String(outcome)) : String(outcome)
  return outcome === 'dead' ? paint('red', word) : word
}

/** When it was delivered, or the work on it ended. */
function endOf({ deliveredAt, endedAt }: JsonObject): string {
  const at = deliveredAt ?? endedAt
  return at === undefined ? '' : listAgo(at)
}

/** Its last error, what holds it, or which job has it since. */
function whyOf(item: JsonObject): string {
  const { outcome, error, later } = item
  if (isJsonObject(later)) return sinceWord({ word: laterWord(later), job: later.job })
  const held = outcome === 'waiting' || outcome === 'retrying' ? whatHolds(item) : undefined
  if (held !== undefined) return held
  return error === undefined ? '' : shortError(String(error))
}

function timeOf(at: number): string {
  return isTerminal() ? secondOf(at) : new Date(at).toISOString()
}
