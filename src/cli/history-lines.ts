import { isJsonObject } from '../core/json.ts'
import { headOf } from '../lib/head-of.ts'
import { paint } from '../lib/paint.ts'
import { paragraph } from '../lib/paragraph.ts'
import { shorten, shortId } from '../lib/short-text.ts'

/** Maximum characters of a text. */
const MAX_TEXT = 2_000
/** Maximum characters of a sender without a terminal. */
const MAX_SENDER = 60
/** The widths of the columns in a terminal, apart from the text. */
const NARROW = [12, 8, 12, 10]
const WIDE = [12, 8, 20, 12]
/** Minimum width of a terminal for `WIDE`. */
const MIN_WIDE = 110
/** The indentation of a text below its row, if the terminal has too little room beside it. */
const INDENT = '    '
/** Minimum width of a text beside its row. */
const MIN_TEXT = 24

type Entry = Record<string, unknown>

/**
 * Makes a function that prints a line of the transcript or of the trace. In a terminal the lines
 * are a table with a head, a line for each day, and texts that are wrapped at their column.
 */
export function createHistoryLines(width = process.stdout.columns ?? 0): (entry: Entry) => string {
  if (!(width > 0)) return plain
  let day = ''
  let hasHead = false
  return (entry) => {
    if (entry.event !== undefined) return plain(entry)
    const lines: string[] = []
    const at = String(entry.time)
    if (!hasHead) lines.push(paint('bold', `${cells(['time (UTC)', 'id', 'who', 'gateway'], width)}text`))
    hasHead = true
    if (at.slice(0, 10) !== day) lines.push(paint('bold', at.slice(0, 10)))
    day = at.slice(0, 10)
    return [...lines, row(entry, at.slice(11, 23), width)].join('\n')
  }
}

/** Columns with a gap after each. */
function cells(texts: readonly string[], width: number): string {
  const widths = width < MIN_WIDE ? NARROW : WIDE
  return texts.map((text, at) => `${shorten(text, widths[at] ?? 0).padEnd(widths[at] ?? 0)}  `).join('')
}

function row(entry: Entry, time: string, width: number): string {
  const { id, sender, channel, arrow, text } = partsOf(entry)
  const head = cells([time, shortId(id), sender, channel], width)
  if (width - head.length < MIN_TEXT) return `${head.trimEnd()}\n${paragraph(INDENT, `${arrow} ${text}`)}`
  const [first = '', ...others] = text.split('\n')
  const blank = ' '.repeat(head.length)
  return [
    paragraph(head, `${arrow} ${first}`),
    ...others.map((line) => (line.trim() === '' ? '' : paragraph(blank, line))),
  ].join('\n')
}

/** A reply has the id of the answered message, and its skill as the sender. */
function partsOf({ channel, role, content, ...rest }: Entry) {
  const meta = isJsonObject(rest.meta) ? rest.meta : {}
  const isReply = role === 'assistant'
  return {
    id: String((isReply ? meta.inReplyTo : meta.messageId) ?? '-'),
    sender: shorten(String((isReply ? meta.skill : meta.from) ?? '-'), MAX_SENDER),
    channel: String(channel ?? '-'),
    arrow: isReply ? '→' : '←',
    text: headOf(String(content), MAX_TEXT),
  }
}

/**
 * `time  id  sender  channel  ← text`. The time has milliseconds, because it may be the next
 * `--before`.
 */
function plain(entry: Entry): string {
  const { time, channel: _, event, ...rest } = entry
  const at = String(time).slice(0, 23).replace('T', ' ')
  const { id, sender, channel, arrow, text } = partsOf(entry)
  if (event !== undefined) return `${at}  ${channel}  ${event}  ${JSON.stringify(rest)}`
  return `${at}  ${id}  ${sender}  ${channel}  ${arrow} ${text.replaceAll('\n', '\n    ')}`
}
