import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { secondOf } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { factLines } from '../../lib/fact-lines.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { matchInWords } from '../../lib/match-words.ts'
import { paint } from '../../lib/paint.ts'
import { paragraph } from '../../lib/paragraph.ts'
import { retriedCauses } from '../../lib/retried-causes.ts'
import { age, shortId } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { shortError } from './letter-causes.ts'
import { hasRunLong } from './long-run.ts'
import { pauseNote } from './pause-note.ts'
import { causesOf, gatewayProblems, workTable } from './route-work.ts'
import { usedUpNote } from './used-up-note.ts'
import { waitingNote } from './waiting-note.ts'

/** `route show`: the target of a route, its pauses, its messages, then what it matches. */
export function humanRoute(found: Json): string {
  const route: JsonObject = Object(found)
  const { name, target, to, never, pauses, down, gatewayTroubles } = route
  // A gateway that does not work is among the troubles, unless a person has taken over the trouble.
  const known = new Set(objectsIn(gatewayTroubles).map(({ gateway }) => gateway))
  const broken = Array.isArray(down) ? down.filter((gateway) => !known.has(gateway)) : []
  const reasons = Array.isArray(never) ? never : []
  return [
    `${paint('bold', String(name))}  route to the ${TARGETS[String(target)] ?? target} ${to}`,
    ...reasons.map((reason) => paragraph('', `${paint('red', 'It matches nothing')}: ${reason}.`)),
    ...broken.map((gateway) => paragraph('', `${paint('red', 'Its gateway does not work')}: ${gateway}.`)),
    ...gatewayProblems(route),
    ...objectsIn(pauses).flatMap((pause) => ['', ...heldBy(pause), pauseNote(pause)]),
    ...usedUpNote(route.usedUp),
    ...waitingNote(route.approvals),
    ...runningNote(route),
    '',
    ...workTable(route),
    ...factLines(factsOf(route)),
    '',
    ...retriesOf(route),
    matchTable(route),
    ...causesOf(route),
    '',
    ...nextSteps(route),
  ].join('\n')
}

const TARGETS: Readonly<Record<string, string>> = { bolt: 'Bolt app' }

/** What is paused, if it is not the route itself. */
function heldBy({ kind, name }: JsonObject): string[] {
  if (kind === 'route') return []
  return [kind === 'store' ? 'Everything is paused.' : `The ${kind} ${name} is paused:`]
}

/** For how long the longest attempt has run, and the commands that show and end it. */
function runningNote({ running }: JsonObject): string[] {
  const { count, id, since } = Object(running)
  if (id === undefined || !hasRunLong(since)) return []
  const begin = Number(count) === 1 ? 'An attempt has run' : `${number(count)} attempts run, the longest`
  return [
    paragraph('', `${begin} for ${age(since)}.`),
    paragraph(
      '  → ',
      `${commandText('message show', id)} shows its message, ${commandText('run cancel', id)} ends it.`,
    ),
  ]
}

function factsOf(route: JsonObject): [title: string, text: string][] {
  const { lastAt, waiting, retrying, dead, undelivered, retry, approval, before, timeout, concurrency } =
    route
  const rivals = Array.isArray(before) ? before : []
  const defaults = Array.isArray(route.defaults) ? route.defaults : []
  const withDefault = (name: string, text: string) =>
    text !== '' && defaults.includes(name) ? `${text} (default)` : text
  return [
    ['last message', lastAt === undefined ? 'none is retained' : `${secondOf(lastAt)} (${age(lastAt)} ago)`],
    ['waiting', waiting === undefined ? '' : counted(Number(waiting), 'message')],
    ['tried again', retrying === undefined ? '' : counted(Number(retrying), 'message')],
    ['dead letters', dead === undefined ? '' : number(dead)],
    ['not delivered', Number(undelivered ?? 0) === 0 ? '' : counted(Number(undelivered), 'reply', 'replies')],
    ['attempts', withDefault('retry', attemptsOf(Object(retry)))],
    ['timeout', withDefault('timeout', timeout === undefined ? '' : ageText(Number(timeout)))],
    [
      'concurrency',
      withDefault('concurrency', concurrency === undefined ? '' : `${number(concurrency)} at the same time`),
    ],
    ['reply', withDefault('reply', REPLIES[String(route.reply)] ?? '')],
    ['on failure', failureText(route)],
    ['while busy', String(route['while-busy'] ?? '')],
    ['settle', route.settle === undefined ? '' : ageText(Number(route.settle))],
    ['order', String(route.order ?? '')],
    ['approval', approval === true ? 'each message needs one' : ''],
    ['tried before it', rivals.length === 0 ? 'no route of its gateways' : rivals.join(', ')],
  ]
}

const REPLIES: Readonly<Record<string, string>> = {
  auto: 'the result of its target',
  none: 'none',
}

/** What the sender of a message gets when it becomes a dead letter. */
function failureText(route: JsonObject): string {
  const text = route['on-failure']
  if (text !== undefined) return `the sender gets: ${JSON.stringify(text)}`
  return route.timeout === undefined ? '' : 'the sender gets no answer (default)'
}

const RETRY_COLUMNS: readonly Column[] = [
  { title: 'message' },
  { title: 'failed' },
  { title: 'next' },
  { title: 'last error', least: 24, wraps: true },
]
/** Number of messages that are listed. */
const MAX_RETRIES = 5

/** The errors of the messages that are tried again, then these, the next attempt first. */
function retriesOf({ retries }: JsonObject): string[] {
  const causes = retriedCauses(objectsIn(retries))
  const isOne = causes.length === 1
  const rows = objectsIn(retries).map(({ id, attempt, nextAt, error }) => [
    shortId(id),
    attempt === undefined ? '' : `attempt ${attempt}`,
    nextOf(nextAt),
    ...(isOne ? [] : [error ?? '']),
  ])
  if (rows.length === 0) return []
  const lines = causes.map(({ count, error }) =>
    paragraph('', `${paint('bold', `${number(count)} ×`)} ${shortError(error)}`),
  )
  const columns = isOne ? RETRY_COLUMNS.slice(0, -1) : RETRY_COLUMNS
  const others = rows.length - MAX_RETRIES
  const more = others > 0 ? [`… ${counted(others, 'other')}`] : []
  return [paint('bold', 'Tried again'), ...lines, lineTable(columns, rows.slice(0, MAX_RETRIES)), ...more, '']
}

function nextOf(at: unknown): string {
  if (typeof at !== 'number') return ''
  return at > Date.now() ? `in ${ageText(at - Date.now())}` : 'now'
}

function number(value: unknown): string {
  return Number(value).toLocaleString('en')
}

/** `up to 3, 10 min apart`, `up to 5, from 1 s to 60 s apart`. */
function attemptsOf({ attempts, backoff, delay, maxDelay }: JsonObject): string {
  if (attempts === undefined) return ''
  if (attempts === 1) return 'one'
  const first = ageText(Number(delay))
  const last = ageText(Number(maxDelay))
  const pauses = backoff === 'fixed' || first === last ? `${first} apart` : `from ${first} to ${last} apart`
  return `up to ${attempts}, ${pauses}`
}

/** The conditions of a route, all of which a message has to meet. */
function matchTable({ match, fallback }: JsonObject): string {
  const rows = Object.entries(Object(match)).flatMap(([key, wanted]) =>
    key === 'not'
      ? [wanted].flat().map((each) => ['not', matchInWords(Object(each))])
      : [[key, [wanted].flat().map(valueText).join(' or ')]],
  )
  const rest =
    fallback === true ? 'It takes the messages that no other route takes.' : 'It matches every message.'
  return rows.length === 0 ? rest : table(['matches if', 'is'], rows)
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function nextSteps({ name, dead, undelivered, lastAt }: JsonObject): string[] {
  const step = (command: string, what: string) => paragraph('  → ', `${command} ${what}`)
  return [
    ...(Number(dead) > 0
      ? [
          step(
            commandText('dead-letter list', '--queue', 'dispatch', '--route', name),
            'lists its dead letters.',
          ),
        ]
      : []),
    ...(Number(undelivered ?? 0) > 0
      ? [
          step(
            commandText('message list', '--route', name, '--outcome', 'undelivered'),
            'lists the messages whose reply was not delivered.',
          ),
        ]
      : []),
    ...(lastAt === undefined
      ? []
      : [step(commandText('message list', '--route', name), 'lists its messages.')]),
  ]
}
