import type { LogEntry } from '../../core/activity.ts'
import type { JsonObject } from '../../core/json.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import { paint } from '../../lib/paint.ts'
import { shortId } from '../../lib/short-text.ts'
import type { Row, Titles } from './lines.ts'

/** Maximum characters of a text in a row. */
const MAX_TEXT = 300

export const EVENT_TITLES: Titles = {
  cells: ['id', 'event', 'gateway'],
  fields: ['event', 'gateway', 'fields'],
}

/** An event of the trace: its name in words, its fields, and then its text or error. */
export function eventRow({ time, event, channel, ...fields }: LogEntry): Row {
  const { messageId, text, ok, approval_required, error, result, ...others } = fields
  const isFailed = ok === false && approval_required !== true
  const facts = [
    approval_required === true ? 'waits for an approval' : ok === true ? 'done' : '',
    isFailed ? paint('red', 'failed') : '',
    argumentsText(withShortTexts(others)),
  ].filter((part) => part !== '')
  const texts = Object.values(defined({ text, result, error })).map((value) =>
    headOf(typeof value === 'string' ? value : JSON.stringify(value), MAX_TEXT).trimEnd(),
  )
  const name = String(event)
  return {
    time,
    cells: [
      messageId === undefined ? '' : shortId(messageId),
      name.replaceAll('_', ' '),
      String(channel ?? ''),
    ],
    fields: [name, String(channel ?? ''), JSON.stringify(fields)],
    mark: '·',
    lines: [facts.join(', '), ...texts.flatMap((each) => each.split('\n'))].filter(
      (line) => line.trim() !== '',
    ),
  }
}

function withShortTexts(fields: JsonObject): JsonObject {
  const short = Object.entries(fields).map(([key, value]) => [
    key,
    typeof value === 'string' ? headOf(value, MAX_TEXT) : value,
  ])
  return Object.fromEntries(short)
}
