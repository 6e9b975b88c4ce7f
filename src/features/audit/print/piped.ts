import type { JsonObject } from '../../../core/json.ts'
import { pathGet } from '../../../core/json.ts'
import { shownTarget } from '../../../lib/audit-words.ts'
import { BEGINNING, isBeginning } from '../../../lib/beginning.ts'
import { counted } from '../../../lib/counted.ts'
import { type Column, lineTable } from '../../../lib/line-table.ts'
import { age } from '../../../lib/short-text.ts'
import { aboutText, codeOf, coloured, DECISION, entryOf, titleOf, wordOf } from './sentence.ts'

const COLUMNS: readonly Column[] = ['id', 'time (UTC)', 'who', 'via', 'action', 'outcome', 'what'].map(
  (title) => ({ title }),
)

/** One line per entry, with whole ids and errors, and the action by its name. */
export function pipedEntries(entries: readonly JsonObject[], titles: JsonObject): string {
  return lineTable(
    COLUMNS,
    entries.map((entry) => [
      entry.id ?? '',
      new Date(Number(entry.at)).toISOString(),
      entry.by ?? '',
      entry.via ?? '',
      entry.action ?? '',
      outcomeText(entry),
      whatText(entry, titles),
    ]),
  )
}

/** `failed: gateway_not_running`. */
function outcomeText(entry: JsonObject): string {
  const word = wordOf(entry)
  const code = codeOf(entry, word).slice(2, -1)
  return coloured(word, code === '' ? word : `${word}: ${code}`)
}

/**
 * The objects of an entry, or else its result, the error, and the reason. A request for an approval
 * is named by its title, which replaces the subject of its message.
 */
function whatText(entry: JsonObject, titles: JsonObject): string {
  const { result, reason, error } = entry
  const { total, count = total, ...others } = Object(result)
  const title = titleOf(entry, titles)
  const about = aboutText(entry.about, title !== undefined)
  const objects = targetText(entry, title) || targetText({ action: '', target: others }, undefined)
  const what = title === undefined ? [about, objects] : [about === '' ? objects : `${objects}, ${about}`]
  return [
    typeof count === 'number' && isMany(entry) ? numberOf(entry, count) : '',
    ...what,
    String(error ?? ''),
    reason === undefined ? '' : `reason: ${reason}`,
  ]
    .filter((part) => part !== '')
    .join('; ')
}

/** Whether an action applied to all objects that match a filter. */
function isMany({ action, target }: JsonObject): boolean {
  return String(action).endsWith('-bulk') || pathGet(target, 'all') === true
}

/** `30 dead letters`. */
function numberOf({ action }: JsonObject, count: number): string {
  return counted(count, String(action).replace(/-\w+$/, '').replaceAll('-', ' '))
}

function targetText(entry: JsonObject, title: string | undefined): string {
  // The title replaces the id, and the column `outcome` has the decision.
  const isElsewhere = (name: string) =>
    (title !== undefined && name === 'id') ||
    (entry.action === DECISION && name === 'status') ||
    (entry.about !== undefined && name === 'messageId')
  const parts = shownTarget({ ...entryOf(entry), at: entry.at })
    .filter(([name]) => !isElsewhere(name))
    .map(([name, value]) => `${name} ${valueText(name, value)}`)
  return [...(title === undefined ? [] : [title]), ...parts].join(', ')
}

const TIMES = new Set(['since', 'until', 'at'])

function valueText(name: string, value: unknown): string {
  if (TIMES.has(name) && isBeginning(value)) return BEGINNING
  if (TIMES.has(name) && typeof value === 'number') return new Date(value).toISOString()
  if (name === 'for' && typeof value === 'number') return age(0, value)
  return typeof value === 'string' ? value : JSON.stringify(value)
}
