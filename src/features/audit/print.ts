import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, secondOf } from '../../core/readable.ts'
import { paint } from '../../lib/paint.ts'
import { shorten, shortId } from '../../lib/short-text.ts'
import { listTable } from '../../lib/text-table.ts'

export const printers: Printers = {
  'audit-list': humanAudit,
}

/** The result of `audit-list` as a table. */
export function humanAudit(answer: Json): string {
  const entries = objectsIn(pathGet(answer, 'entries'))
  const next = pathGet(answer, 'next')
  const titles = Object(pathGet(answer, 'titles'))
  const isNarrow = (process.stdout.columns || Number.POSITIVE_INFINITY) < NARROW
  const rows = entries.map(({ at, by, via, action, target, outcome }) => [
    new Date(Number(at)).toISOString().slice(0, 19).replace('T', ' '),
    by,
    ...(isNarrow ? [] : [via]),
    action,
    outcome === 'ok' ? paint('green', 'ok') : paint('red', String(outcome)),
    shorten(targetOf(String(action), Object(target), titles), LONGEST_TARGET),
  ])
  const more = next === undefined ? [] : [`There are older entries: --before ${next}`]
  if (rows.length === 0) return ['No entries.', ...more].join('\n')
  return [
    listTable(['time (UTC)', 'who', ...(isNarrow ? [] : ['via']), 'action', 'outcome', 'what'], rows),
    ...more,
  ].join('\n')
}

/** Terminals with fewer columns have no room for the interface. */
const NARROW = 100
/** Maximum characters of the objects of an entry. */
const LONGEST_TARGET = 100
const TIMES = new Set(['since', 'until', 'at'])
/** Arguments that an action always has: they say nothing. */
const ALWAYS = new Set(['all', 'confirm'])

function targetOf(action: string, target: JsonObject, titles: JsonObject): string {
  const title = action === 'approval-decide' ? titles[String(target.id)] : undefined
  const shown = Object.entries(target).filter(([name]) => !ALWAYS.has(name) && !(title && name === 'id'))
  const parts = shown.map(([name, value]) => `${name} ${textOf(name, value)}`)
  return [...(typeof title === 'string' ? [title] : []), ...parts].join(', ')
}

function textOf(name: string, value: Json): string {
  if (TIMES.has(name) && typeof value === 'number') return secondOf(value)
  return typeof value === 'string' ? shortId(value) : JSON.stringify(value)
}
