import { isJsonObject, type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { Printers } from '../../core/readable.ts'
import { hasRunLong } from '../../engine/print/long-run.ts'
import { pausedAnswer, pausedText, shortTime } from '../../engine/print/pause-note.ts'
import { usedUpText } from '../../engine/print/used-up-note.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { type Column, leftOutOf, lineTable } from '../../lib/line-table.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { resumedText } from '../../lib/resumed-text.ts'
import { isTerminal, lineOf, listAge, listCount } from '../../lib/short-text.ts'
import { humanEnded, humanPauses } from './print/list.ts'

/** `isOfAssistant`: whether a route belongs to a word of the assistant. Such routes are counted. */
export function pausePrinters(isOfAssistant: (route: JsonObject) => boolean): Printers {
  return {
    'route-list': (routes, args) => humanRoutes(objectsIn(routes), args, isOfAssistant),
    'pause-list': (pauses, { ended }) =>
      ended === true ? humanEnded(objectsIn(pauses), shortTime) : humanPauses(objectsIn(pauses), shortTime),
    'gateway-pause': humanPause,
    'gateway-resume': humanResume('gateway'),
    'route-pause': humanPause,
    'route-resume': humanResume('route'),
    'skill-pause': humanPause,
    'skill-resume': humanResume('skill'),
    'conversation-pause': humanPause,
    'conversation-resume': humanResume('conversation'),
    'run-cancel': humanCancel,
  }
}

/** `run-cancel`. */
function humanCancel(result: Json, { drop }: JsonObject): string {
  return paragraph('', cancelText(Object(result), drop === true))
}

function cancelText({ messageId, cancelled, outcome }: JsonObject, drop: boolean): string {
  const show = commandText('message show', messageId)
  if (cancelled === true)
    return drop
      ? `Cancelled, and its dead letter is dropped: ${show}`
      : `Cancelled: message ${messageId} is a dead letter now. To retry it: ${commandText('dead-letter retry', messageId)}`
  const dropped = drop ? ' Its dead letter is then not dropped.' : ''
  if (outcome === 'running')
    return `Not cancelled yet: message ${messageId} still runs. A skill that ignores its signal runs to its end: ${show}`
  if (outcome === 'retrying' || outcome === 'waiting')
    return `Not given up yet: the route of message ${messageId} is busy. It becomes a dead letter once there is a free place, if that is within an hour.${dropped} See ${show}`
  return `Not cancelled: message ${messageId} ended before, ${outcome}: ${show}`
}

const COUNTS = new Set(['arrived', 'failed', 'failed attempts'])
const ROUTE_COLUMNS: readonly Column[] = [
  { title: 'route' },
  { title: 'answers', least: 16 },
  { title: 'match', least: 24, share: 0.33, leftOut: 5, keepsBoth: true },
  { title: 'arrived', leftOut: 2 },
  { title: 'failed', leftOut: 1 },
  { title: 'failed attempts', leftOut: 1 },
  { title: 'last', leftOut: 4 },
  { title: 'waiting', leftOut: 0 },
  { title: 'dead', leftOut: 0 },
  { title: 'state', least: 24, wraps: true },
]

/** Known counts stay in a narrow terminal, and other columns go. */
const COUNTED_COLUMNS: readonly Column[] = ROUTE_COLUMNS.map(({ title, leftOut, ...column }) => {
  if (COUNTS.has(title)) return { title, ...column }
  const rank = title === 'answers' ? 1 : leftOut === 0 ? 2 : leftOut
  return { title, ...column, ...(rank !== undefined && { leftOut: rank }) }
})

/** `route-list`. */
function humanRoutes(
  routes: readonly JsonObject[],
  args: JsonObject,
  isOfAssistant: (route: JsonObject) => boolean,
): Printable {
  const own = routes.filter((route) => !isOfAssistant(route))
  const others = routes.length - own.length
  const columns = own.some(({ traffic }) => isJsonObject(traffic)) ? COUNTED_COLUMNS : ROUTE_COLUMNS
  const list = own.length === 0 ? noData('There are no routes.') : routeTable(columns, own)
  return withNotes(
    list,
    ...worstNote(own, args),
    ...(others === 0 ? [] : [`${counted(others, 'route')} of the assistant: --json lists all`]),
  )
}

/** What is wrong is not left out in a narrow terminal: the state then has it. */
const NEVER_LEFT_OUT = ['waiting', 'dead']

function routeTable(columns: readonly Column[], routes: readonly JsonObject[]): string {
  const rows = routes.map((route) => routeRow(route, stateOf(route)))
  const inState = leftOutOf(columns, rows).filter((title) => NEVER_LEFT_OUT.includes(title))
  if (inState.length === 0) return lineTable(columns, rows)
  const isShown = (_: unknown, at: number) => !inState.includes(columns[at]?.title ?? '')
  const withCounts = routes.map((route) => routeRow(route, stateOf(route, inState)).filter(isShown))
  return lineTable(columns.filter(isShown), withCounts)
}

function routeRow(route: JsonObject, state: string): unknown[] {
  return [
    route.name,
    `${route.target} ${route.to}`,
    route.fallback === true ? 'no other route matches' : matchInWords(Object(route.match)) || 'everything',
    ...trafficOf(route),
    numberIfAny(route.waiting),
    numberIfAny(route.dead),
    state,
  ]
}

/** The counts of a route, and the age of its last message. */
function trafficOf({ traffic, lastAt }: JsonObject): string[] {
  const { arrived, failed, attempts, failedAttempts } = Object(traffic)
  return [
    arrived === undefined ? '' : listCount(arrived),
    failedText(failed, arrived),
    failedText(failedAttempts, attempts),
    lastAt === undefined ? '' : listAge(lastAt),
  ]
}

/** `9 (3 %)`; in a pipe without the share. */
function failedText(failed: unknown, all: unknown): string {
  if (failed === undefined) return ''
  const count = listCount(failed)
  if (failed === 0 || !isTerminal()) return count
  return paint('red', `${count} (${shareOf(failed, all)})`)
}

function shareOf(part: unknown, all: unknown): string {
  return `${Math.round(Math.min(100, (100 * Number(part)) / Math.max(1, Number(all))))} %`
}

/** The time that is counted, and the route with most failed attempts. */
function worstNote(routes: readonly JsonObject[], { since, until }: JsonObject): string[] {
  const known = routes.flatMap(({ name = '', traffic }) =>
    isJsonObject(traffic) ? [{ ...traffic, name }] : [],
  )
  const failedIn = (row: JsonObject) => Number(row.failedAttempts ?? 0)
  const [worst] = known.toSorted((a, b) => failedIn(b) - failedIn(a))
  if (!worst) return []
  const { name, attempts } = Object(worst)
  const period =
    since === undefined && until === undefined ? 'Of the last day (`--since 1h`, `--until`). ' : ''
  const failed = failedIn(worst)
  const most =
    failed === 0
      ? 'No attempt failed.'
      : `Most failed attempts: route ${name}, ${listCount(failed)} of ${listCount(attempts)} (${shareOf(failed, attempts)}).`
  return [paragraph('', `${period}${most}`)]
}

/**
 * `gateway wholesale does not work, 1 running for 17 min, 4 tried again, paused by ada`. `counts`: the
 * columns that have no room.
 */
function stateOf(route: JsonObject, counts: readonly string[] = []): string {
  const { retrying, approvals, traffic } = route
  const undelivered = Number(Object(traffic).undelivered ?? 0)
  const again = numberIfAny(retrying)
  const waiting = numberIfAny(approvals)
  const forBudget = isJsonObject(route.usedUp) ? '' : numberIfAny(route.forBudget)
  const dead = counts.includes('dead') ? Number(route.dead ?? 0) : 0
  const held = counts.includes('waiting') ? Number(route.waiting ?? 0) : 0
  return [
    ...gatewayStates(route),
    dead > 0 && paint('red', counted(dead, 'dead letter')),
    held > 0 && paint('yellow', `${listCount(held)} waiting`),
    runningText(route),
    again && paint('yellow', `${again} tried again`),
    waiting && paint('yellow', `${waiting} ${waiting === '1' ? 'waits' : 'wait'} for approval`),
    undelivered > 0 && paint('red', `${counted(undelivered, 'reply', 'replies')} not delivered`),
    forBudget && paint('yellow', `${forBudget} ${forBudget === '1' ? 'waits' : 'wait'} for a budget`),
    pauseOf(route),
    isJsonObject(route.usedUp) && usedUpText(route.usedUp),
  ]
    .filter(Boolean)
    .join(', ')
}

/** `gateway shop refuses every delivery for 12 min (signature_invalid)`; in a pipe since when. */
function gatewayStates({ gatewayTroubles, down }: JsonObject): string[] {
  const faults = objectsIn(gatewayTroubles)
  const known = new Set(faults.map(({ gateway }) => gateway))
  const others = (Array.isArray(down) ? down : []).filter((name) => !known.has(name))
  return [
    ...faults.map(({ gateway, what, why, since, severity }) => {
      const time = since === undefined ? '' : ` ${isTerminal() ? 'for' : 'since'} ${listAge(since)}`
      const reason = why ? ` (${lineOf(String(why), MAX_WHY)})` : ''
      const color = severity === 'warning' ? 'yellow' : 'red'
      return `${paint(color, `gateway ${gateway} ${what}`)}${time}${reason}`
    }),
    ...others.map((name) => paint('red', `gateway ${name} does not work`)),
  ]
}

/** Maximum characters of a reason at a terminal. */
const MAX_WHY = 80

/** `1 running for 17 min`, in a pipe since when; empty if all have just begun. */
function runningText({ running }: JsonObject): string {
  const { count, since } = Object(running)
  return hasRunLong(since)
    ? `${listCount(count)} running ${isTerminal() ? 'for' : 'since'} ${listAge(since)}`
    : ''
}

/** The pause of a route or of its skill; else that of its gateway: `gateway paused by ada`. */
function pauseOf({ paused, pauses }: JsonObject): string {
  if (paused !== undefined) return pausedText(Object(paused))
  const [other] = objectsIn(pauses)
  if (other === undefined) return ''
  const what = other.kind === 'skill' ? `skill ${other.name}` : other.kind
  return `${other.kind === 'store' ? 'everything' : what} ${pausedText(other)}`
}

function numberIfAny(count: Json | undefined): string {
  return Number(count ?? 0) > 0 ? listCount(count) : ''
}

/** `route-pause` and other pauses. */
function humanPause(result: Json): Printable {
  const effect = pathGet(result, 'effect')
  const also = pathGet(result, 'heldLater')
  const later = typeof also === 'string' ? also : ''
  if (typeof effect === 'string') return pausedAnswer(result, { sentences: effect, later })
  const isDrop = pathGet(result, 'pause.drop') === true
  const what = isDrop
    ? 'Its messages are recorded as handled by a person'
    : 'Its messages are accepted and wait'
  return pausedAnswer(result, { clause: what, later })
}

/** `route-resume` and other resumes. */
function humanResume(kind: string): (result: Json, args: JsonObject) => string {
  return (result, args) =>
    pathGet(result, 'existed') === true
      ? resumedText({ kind, name: String(args[kind]) })
      : `The ${kind} ${args[kind]} was not ${kind === 'conversation' ? 'taken over' : 'paused'}.`
}
