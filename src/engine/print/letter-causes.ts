import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { isBeginning } from '../../lib/beginning.ts'
import { commandText } from '../../lib/command-text.ts'
import { patternOf } from '../../lib/error-pattern.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { mostPeopleFirst } from '../../lib/most-people-first.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import type { Printable } from '../../lib/printed.ts'
import { age, listAge, listText, shortId } from '../../lib/short-text.ts'
import { recoveryLines, waitsLine } from './letter-recovery.ts'
import { senderText, textWithMark } from './sender.ts'
import { conversationOf as conversationOfReply } from './unsent-reply.ts'

/** Columns that tell the dead letters of one cause apart. */
export const LETTER_COLUMNS: readonly Column[] = [
  { title: 'id' },
  { title: 'age', piped: 'time' },
  { title: 'conversation', least: 12, keepsEnd: true, leftOut: 1 },
  { title: 'who', least: 16 },
  { title: 'text', least: 16 },
]

const LONGEST_TEXT = 100
const INDENT = '  '

/** The cells of `LETTER_COLUMNS`. */
export function letterCells(letter: JsonObject): unknown[] {
  const conversation = conversationOf(letter)
  const who = whoOf(letter)
  const text = process.stdout.isTTY ? withoutRepeated(textOf(letter), [conversation, who]) : textOf(letter)
  return [
    shortId(letter.id),
    listAge(letter.firstAt ?? letter.at),
    conversation,
    who,
    listText(text, LONGEST_TEXT),
  ]
}

/** The parts of a summary that other columns do not have; the whole text if there are none. */
export function withoutRepeated(text: string, others: readonly string[]): string {
  const known = new Set(others.filter((other) => other !== ''))
  const parts = text.split(' · ').filter((part) => !known.has(part.replace(/^\w+: /, '')))
  return parts.length === 0 ? text : parts.join(' · ')
}

/** The last error of a dead letter. */
export function lastError({ errors }: JsonObject): string {
  return String(pathGet(objectsIn(errors).at(-1), 'message') ?? '')
}

/** An error without the skill or gateway, which is named beside it. */
export function shortError(error: string): string {
  return error.replace(/^Skill \S+ failed: |^Gateway \S+ permanently rejected the message: /, '')
}

const NEXT_STEPS = `One with all its errors: \`trivium dead-letter show ID\`
To retry one, or all of a cause: \`trivium dead-letter retry ID\`, \`… retry --all --error TEXT\``

/** The flags of the filters of dead letters. */
const FILTER_FLAGS: Readonly<Record<string, string>> = {
  queue: '--queue',
  group: '--route',
  message: '--message',
  code: '--code',
  error: '--error',
  pattern: '--pattern',
  job: '--job',
  since: '--since',
  until: '--until',
  arrivedSince: '--arrived-since',
  arrivedUntil: '--arrived-until',
}

/** The filters of a call as words of a command; none without filters. */
export function filterWords(args: JsonObject): string[] {
  return Object.entries(FILTER_FLAGS).flatMap(([name, flag]) =>
    args[name] === undefined ? [] : [flag, isBeginning(args[name]) ? 'all' : String(args[name])],
  )
}

/** The next steps below a list; with filters, the command that retries what matches. */
function nextSteps(args: JsonObject): string {
  const words = filterWords(args)
  if (words.length === 0) return NEXT_STEPS
  const all = commandText('dead-letter retry', '--all', ...words)
  return `One with all its errors: \`trivium dead-letter show ID\`\n${paragraph('', `To retry all of these: ${all}`)}`
}

/**
 * Dead letters by cause, most people first, and within a cause newest first. `causes`: the
 * result of `dead-letter-groups`. `args`: the filters of the list.
 */
export function lettersByCause(letters: Json, causes: Json, args: JsonObject = {}): Printable | undefined {
  const keyOf = (queue: unknown, group: unknown, pattern: unknown) => JSON.stringify([queue, group, pattern])
  const byCause = Map.groupBy(objectsIn(letters), (letter) =>
    keyOf(letter.queue, letter.group, patternOf(lastError(letter))),
  )
  const parts = mostPeopleFirst(objectsIn(causes)).flatMap((cause) => {
    const shown = byCause.get(keyOf(cause.queue, cause.group, cause.pattern)) ?? []
    return shown.length === 0 ? [] : [`${causeHead(cause, shown.length)}\n${rowsOf(shown)}`]
  })
  return parts.length === 0 ? undefined : { text: parts.join('\n\n'), notes: [`\n${nextSteps(args)}`] }
}

/** `31 × SKU NL-TENT-…P is not in the catalogue`, where, and since when. */
function causeHead(cause: JsonObject, shown: number): string {
  const { count, common, queue, group, code } = cause
  const place = queue === 'dispatch' ? `route ${group}` : `${queue} ${group}`
  const times = timesOf(cause)
  const part = shown < Number(count) ? `; ${shown} of them:` : ':'
  const title = `${paint('bold', `${count} ×`)} ${shortError(String(common))}`
  const waits = waitsLine(cause)
  const lines = [...(waits === undefined ? [] : [waits]), ...recoveryLines(cause)]
  return [
    paragraph('', title),
    ...lines.map((line) => paragraph(INDENT, line)),
    paragraph(INDENT, `${place}, ${code}, ${times}${part}`),
  ].join('\n')
}

/** When the attempts of a cause failed. */
function timesOf({
  count,
  first: firstDeath,
  failingSince: first = firstDeath,
  last: newest,
  lastNew: last = newest,
  retriedAt,
}: JsonObject): string {
  const retried = retriedAt === undefined ? '' : `retried ${age(retriedAt)} ago, failed again`
  if (retried && count === 1) return `for ${age(first)}, ${retried}`
  const times = age(first) === age(last) ? `${age(last)} ago` : `${age(first)} to ${age(last)} ago`
  return retried ? `${times}, one of them ${retried}` : times
}

function rowsOf(letters: readonly JsonObject[]): string {
  const width = (process.stdout.columns || Number.POSITIVE_INFINITY) - INDENT.length
  return lineTable(LETTER_COLUMNS, letters.map(letterCells), width).replaceAll(/^/gm, INDENT)
}

/**
 * The conversation, at a terminal without the name of its gateway. Empty for the conversation of a
 * single delivery: its id is already in the row.
 */
function conversationOf({ message, data }: JsonObject): string {
  const conversation = String(pathGet(message, 'conversation') ?? conversationOfReply(Object(data)))
  if (conversation === pathGet(message, 'id')) return ''
  const prefix = `${pathGet(message, 'gateway')}:`
  const isShort = process.stdout.isTTY && conversation.startsWith(prefix)
  return isShort ? conversation.slice(prefix.length) : conversation
}

/** The sender of the message; for an unsent reply without a message, its recipient. */
function whoOf({ message, data }: JsonObject): string {
  return senderText(pathGet(message, 'from')) || [pathGet(data, 'to') ?? []].flat().join(', ')
}

/** The text of the message, or of the unsent reply. */
function textOf({ queue, data, summary, message }: JsonObject): string {
  const unsent = queue === 'outbox' ? pathGet(data, 'text') : undefined
  return textWithMark(String(unsent ?? summary ?? ''), pathGet(message, 'data.replyTarget.test'))
}
