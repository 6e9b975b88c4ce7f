import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { listTime, type Printers, secondOf } from '../../core/readable.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { actionInWords, changedNothing, outcomeInWords, shownTarget } from '../../lib/audit-words.ts'
import { BEGINNING, isBeginning } from '../../lib/beginning.ts'
import { counted } from '../../lib/counted.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { rowLines, withBelow, wrappedBelow } from '../../lib/row-lines.ts'
import { age, isTerminal, listText, shorten, shortId } from '../../lib/short-text.ts'

export const printers: Printers = {
  'audit-list': humanAudit,
}

const DECISION = 'approval-decide'

const COLUMNS: readonly Column[] = [
  { title: 'id', leftOut: 2 },
  { title: 'time (UTC)' },
  { title: 'who', least: 12 },
  { title: 'via', leftOut: 3 },
  { title: 'action' },
  { title: 'outcome' },
  { title: 'what', least: 20 },
]
const WITHOUT_WHAT = COLUMNS.slice(0, -1)
const WRAPPED: readonly Column[] = [...WITHOUT_WHAT, { title: 'what', least: 40, wraps: true }]
/** Minimum width of a terminal for texts of several lines in their column. */
const WIDE = 120

/** The result of `audit-list` as a table; with `id`, all fields of one entry. */
export function humanAudit(answer: Json, args: JsonObject): Printable {
  const entries = objectsIn(pathGet(answer, 'entries'))
  const [one] = entries
  const titles = Object(pathGet(answer, 'titles'))
  if (args.id !== undefined) return one ? humanEntry(one, titles) : noData('There is no entry with this id.')
  const next = pathGet(answer, 'next')
  const more =
    next === undefined ? [] : [`There are older entries: ${commandAgain('audit', args, { before: next })}`]
  if (entries.length === 0) return noData('No entries.', ...more)
  return withNotes(listOf(entries, titles), ...more)
}

/**
 * One line per entry, or more if `what` is long: a narrow terminal has it below. It is never cut.
 */
function listOf(entries: readonly JsonObject[], titles: JsonObject): string {
  const rows = rowsOf(entries, titles)
  if (process.stdout.columns >= WIDE) return lineTable(WRAPPED, rows)
  const whole = rowLines(COLUMNS, rows)
  if (whole?.rows.every((line, at) => line.includes(String(rows[at]?.at(-1)))))
    return withBelow(
      whole,
      entries.map(() => []),
    )
  const short = rowLines(
    WITHOUT_WHAT,
    rows.map((row) => row.slice(0, -1)),
  )
  if (!short) return lineTable(COLUMNS, rows)
  return withBelow(
    short,
    rows.map((row) => wrappedBelow(String(row.at(-1)))),
  )
}

function rowsOf(entries: readonly JsonObject[], titles: JsonObject): Json[][] {
  return entries.map((entry) => [
    shortId(entry.id ?? ''),
    listTime(Number(entry.at), (at) => secondOf(at).replace(/ UTC$/, '')),
    process.stdout.isTTY ? shownAuthor(entry.by) : (entry.by ?? ''),
    entry.via ?? '',
    entry.action ?? '',
    outcomeOf(entry),
    aboutOf(entry, titles),
  ])
}

const COLOURS: Readonly<Record<string, 'red' | 'yellow' | 'green'>> = {
  denied: 'red',
  expired: 'red',
  failed: 'red',
  'nothing changed': 'yellow',
  'not allowed': 'yellow',
  cancelled: 'yellow',
}

/** The word for an outcome. After a failure, or another refusal than `forbidden`, with the error code. */
function outcomeOf(entry: JsonObject): string {
  const { action, outcome } = entry
  // An older daemon sends no word.
  const text = String(entry.word ?? outcomeInWords(entryOf(entry)))
  const isPlain = (text !== 'failed' && text !== 'not allowed') || outcome === 'forbidden'
  const code = action === DECISION && outcome === 'approval_decided' ? 'already decided' : String(outcome)
  return paint(COLOURS[text] ?? 'green', isPlain ? text : `${text}: ${code}`)
}

/**
 * The objects of an entry, or else its result, the error, and the reason. A request for an approval
 * is named by its title, which replaces the subject of its message.
 */
function aboutOf(entry: JsonObject, titles: JsonObject): string {
  const { result, reason, error } = entry
  const why = reason === undefined ? [] : [`reason: ${reason}`]
  const fault = error === undefined ? [] : [errorOf(String(error))]
  const { total, count = total, ...others } = Object(result)
  const title = titleOf(entry, titles)
  const about = aboutText(entry.about, title !== undefined)
  const objects = targetOf(entry, titles) || targetOf({ action: '', target: others }, {})
  const number = typeof count === 'number' && isMany(entry) ? [numberOf(entry, count)] : []
  const what = title === undefined ? [about, objects] : [about === '' ? objects : `${objects}, ${about}`]
  return [...number, ...what, ...fault, ...why].filter(Boolean).join('; ')
}

/** The title of the request that an entry decided, or tried to decide. */
function titleOf(
  { action, target }: { action?: Json | undefined; target?: Json | undefined },
  titles: JsonObject,
): string | undefined {
  const title = action === DECISION ? titles[String(Object(target).id)] : undefined
  return typeof title === 'string' ? title : undefined
}

/**
 * The error of an entry. A terminal omits "not allowed" errors, because other columns show the
 * action and the person.
 */
function errorOf(error: string): string {
  if (!isTerminal()) return error
  const [why = error] = error.replace(/^Skill \S+ for \S+ is not allowed: /, '').split('; ')
  return shorten(why.replace(/\.$/, ''), MAX_SHOWN)
}

/** Whether an argument is an id that the person and the subject replace: in a pipe, only that of the message. */
function isOfMessage(name: string): boolean {
  return name === 'messageId' || (name === 'conversation' && process.stdout.isTTY)
}

/** The person and the subject that an entry is about: `Ada Byron: Order 47117`, or only the person. */
function aboutText(about: Json | undefined, isPersonOnly = false): string {
  if (!isJsonObject(about)) return ''
  const { from, subject } = about
  const { name, address, id } = Object(from)
  return [name ?? address ?? id, isPersonOnly ? undefined : subject]
    .filter((part) => part !== undefined)
    .join(': ')
}

/** Whether an action applied to all objects that match a filter. */
function isMany({ action, target }: JsonObject): boolean {
  return String(action).endsWith('-bulk') || pathGet(target, 'all') === true
}

/** `30 dead letters`. */
function numberOf({ action }: JsonObject, count: number): string {
  return counted(count, String(action).replace(/-\w+$/, '').replaceAll('-', ' '))
}

function entryOf({ action, status, target, result, changes }: JsonObject) {
  return {
    action: String(action),
    status: String(status),
    target: Object(target),
    result: Object(result),
    changes: Object(changes),
  }
}

function humanEntry(entry: JsonObject, titles: JsonObject): string {
  const {
    at,
    by,
    status: _,
    outcome: _outcome,
    word: _word,
    about,
    target,
    result,
    changes,
    id,
    ...others
  } = entry
  const words = entryOf(entry)
  const what = `${actionInWords(words)}${changedNothing(words) ? ': nothing changed' : ''}`
  const title = titles[String(pathGet(target, 'id'))]
  return factLines([
    ['what', what],
    ['title', typeof title === 'string' ? title : ''],
    ['about', aboutText(about)],
    ['outcome', outcomeOf(entry)],
    ['time', `${secondOf(at)} (${age(at)} ago)`],
    ['by', shownAuthor(by)],
    ...factsIn(others),
    ['id', String(id)],
    ...factsIn(Object(target)).map(([name, text]): Fact => [name === 'id' ? 'target id' : name, text]),
    ...factsIn(result === undefined ? {} : { result }),
    ...Object.entries(Object(changes)).map(([name, change]): Fact => [name, changeText(Object(change))]),
  ]).join('\n')
}

type Fact = [title: string, text: string]

function factsIn(record: JsonObject): Fact[] {
  return Object.entries(record).flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [[name, factText(name, value)]],
  )
}

function factText(name: string, value: Json): string {
  if (TIMES.has(name) && isBeginning(value)) return BEGINNING
  if (TIMES.has(name) && typeof value === 'number') return secondOf(value)
  if (isJsonObject(value)) return argumentsText(value)
  return Array.isArray(value) ? value.map((each) => factText('', each)).join(', ') : String(value)
}

function changeText({ before, after }: JsonObject): string {
  const [old, now] = [before, after].map((value) =>
    value === undefined || value === null ? 'nothing' : factText('', value),
  )
  return `${old} → ${now}`
}

/** Maximum characters of an error, and of a value that is not a text. */
const MAX_SHOWN = 100
const TIMES = new Set(['since', 'until', 'at'])

function targetOf({ action, target, at, result, about }: JsonObject, titles: JsonObject): string {
  const isDecision = action === DECISION
  const title = titleOf({ action, target }, titles)
  // The title replaces the id and at a terminal the skill, and the column `outcome` has the decision.
  const isElsewhere = (name: string) =>
    (title && (name === 'id' || (name === 'skill' && isTerminal()))) ||
    (isDecision && name === 'status') ||
    (about !== undefined && isOfMessage(name))
  const shown = shownTarget({ action: String(action), at, target: Object(target), result: Object(result) })
  const parts = shown
    .filter(([name]) => !isElsewhere(name))
    .map(([name, value]) => `${name} ${textOf(name, value)}`)
  return [...(title === undefined ? [] : [title]), ...parts].join(', ')
}

function textOf(name: string, value: unknown): string {
  if (TIMES.has(name) && isBeginning(value)) return BEGINNING
  if (TIMES.has(name) && typeof value === 'number') return listTime(value, secondOf)
  if (name === 'for' && typeof value === 'number') return age(0, value)
  if (typeof value !== 'string') return listText(JSON.stringify(value), MAX_SHOWN)
  return process.stdout.isTTY ? shortId(value.replace(OF_JOB, '')) : value
}

/** The beginning of the id of a job, which its list leaves out too. */
const OF_JOB = /^[a-z][a-z-]*-(?=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$)/
