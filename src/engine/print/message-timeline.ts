import { isJsonObject, type Json, type JsonObject, objectsIn, textAt } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { defined } from '../../lib/defined.ts'
import { paint } from '../../lib/paint.ts'
import { lengthOf, paragraph } from '../../lib/paragraph.ts'
import { age } from '../../lib/short-text.ts'
import { fieldTexts, noteFacts, noteTexts } from './note-details.ts'

/** A line of the timeline. `texts`: paragraphs below its facts. */
type Row = { at: number; road: string; what: string; facts: string; texts: readonly string[] }

/**
 * The history of a message with its log lines and its running attempt, by time. `skills`: the skill
 * of each route, for attempts whose entries do not name it. `bodyOf` shortens what a skill returned.
 */
export function timelineOf(found: JsonObject, bodyOf?: (text: string) => string): string[] {
  const { message, history, logs, attempt } = found
  const received = new Date(Number(Object(message).receivedAt)).toISOString()
  const rows = [...noteRows(found, bodyOf), ...logRows(objectsIn(logs), objectsIn(history))]
    .concat(isJsonObject(attempt) ? runningRow(attempt, String(Object(message).id)) : [])
    .toSorted((a, b) => a.at - b.at)
  const cells = [
    ['time', 'road', 'what'],
    ...rows.map(({ at, road, what }) => [timeFrom(received, at), road, what]),
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...cells.map((row) => lengthOf(row[column] ?? ''))))
  const [head = '', ...starts] = cells.map((row) =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '),
  )
  const lines = rows.flatMap(({ what, facts, texts }, index) => {
    const start = `${starts[index] ?? ''}  `
    const painted = FAILED.has(what)
      ? start.replace(/(\S+(?: \S+)*)(\s*)$/, (_, word, gap) => `${paint('red', word)}${gap}`)
      : start
    return rowLines(start, painted, [...(facts === '' ? [] : [facts]), ...texts])
  })
  return [paint('bold', head.trimEnd()), ...lines]
}

const FAILED: ReadonlySet<string> = new Set(['failed', 'dead', 'send failed', 'not delivered', 'bounced'])
/** Minimum width of the details beside the time, road and name of an entry. */
const MIN_DETAILS = 36

/** Details beside the start of the row, or below it in a narrow terminal. */
function rowLines(start: string, painted: string, details: readonly string[]): string[] {
  const width = process.stdout.columns || Number.POSITIVE_INFINITY
  const lines = details.flatMap((each) => each.split('\n'))
  if (lines.length === 0) return [painted.trimEnd()]
  if (width - start.length < MIN_DETAILS)
    return [painted.trimEnd(), ...lines.map((line) => (line.trim() === '' ? '' : paragraph('    ', line)))]
  const blank = ' '.repeat(start.length)
  const [first = '', ...others] = lines
  const beside = paragraph(blank, first).slice(start.length)
  return [painted + beside, ...others.map((line) => (line.trim() === '' ? '' : paragraph(blank, line)))]
}

/** The entries of the history. At a terminal, an error that repeats the one before is cut. */
function noteRows({ history, skills, running }: JsonObject, bodyOf?: (text: string) => string): Row[] {
  const isTerminal = process.stdout.columns > 0
  let before: string | undefined
  const dropped = objectsIn(history).flatMap(({ what, detail }) =>
    what === 'dropped' ? (textAt(detail, 'id') ?? []) : [],
  )
  return objectsIn(history).map(({ at, road, what, detail }) => {
    const given: JsonObject = isJsonObject(detail) ? detail : {}
    const error = textAt(given, 'error')
    const skill = skillOf(given, Object(skills), Object(running))
    const shown = {
      ...given,
      ...defined({ skill }),
      ...(isTerminal && error !== undefined && error === before && { error: SAME }),
    }
    before = error ?? before
    const row = { at: Number(at), road: String(road), what: String(what) }
    return { ...row, facts: noteFacts(row, shown), texts: noteTexts(row, shown, dropped, bodyOf) }
  })
}

const SAME = 'the same error'

/** The skill of an attempt, by its error or by its route. */
function skillOf(detail: JsonObject, skills: JsonObject, running: JsonObject): Json | undefined {
  if (detail.attempt === undefined) return detail.skill
  const failed = /^Skill (\S+) failed: /.exec(String(detail.error))?.[1]
  const ofRunning = running.route === detail.route ? running.skill : undefined
  return detail.skill ?? failed ?? ofRunning ?? skills[String(detail.route)]
}

/** The log lines, without those that repeat an entry of the history. */
function logRows(logs: readonly JsonObject[], history: readonly JsonObject[]): Row[] {
  const keyOf = ({ attempt, error }: JsonObject) => JSON.stringify([attempt, error])
  const details = history.map(({ detail }) => Object(detail))
  const failures = new Set(details.filter(isFailure).map(keyOf))
  const hasModel = history.some(({ what }) => what === 'model')
  return logs
    .filter((line) => !isFailure(line) || !failures.has(keyOf(line)))
    .filter(({ message, model }) => !hasModel || message !== 'a model answered' || model === undefined)
    .map(({ at, level, message, text, stack: _, trace: __, error, ...fields }): Row => {
      const said = [message, text].filter((each) => each !== undefined).map((each) => JSON.stringify(each))
      const why = error === undefined ? [] : [String(error)]
      const facts = [[...said, ...fieldTexts(defined(fields))].join(', '), ...why].join(': ')
      return { at: Number(at), road: 'log', what: String(level), facts, texts: [] }
    })
}

function isFailure({ attempt, error }: JsonObject): boolean {
  return attempt !== undefined && error !== undefined
}

/** The attempt that has not ended, and how to end it. */
function runningRow({ since, timeoutAt, route, skill, attempt }: JsonObject, id: string): Row[] {
  if (typeof since !== 'number') return []
  const end = typeof timeoutAt === 'number' ? `; its timeout ends it at ${secondOf(timeoutAt)}` : ''
  const row = { at: since, road: 'dispatch', what: 'running' }
  const facts = noteFacts(row, defined({ route, skill, attempt }))
  const cancel = `To cancel the attempt: ${commandText('run cancel', id, '--reason', 'TEXT')}`
  return [{ ...row, facts: `${facts}, for ${age(since)}${end}`, texts: [cancel] }]
}

/** The time of day (UTC), with the date unless it is that of `start`. */
function timeFrom(start: string, at: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().slice(0, 23).split('T')
  return start.startsWith(day) ? time : `${day} ${time}`
}
