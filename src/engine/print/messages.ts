import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Printers, timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { failureOf } from '../../lib/failure-of.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { retriedSinceFilter } from '../../lib/retried-since.ts'
import { rowLines, withBelow } from '../../lib/row-lines.ts'
import { age, isTerminal, lineOf, listAge, listText, shorten, shortId } from '../../lib/short-text.ts'
import { table } from '../../lib/text-table.ts'
import { humanConversation } from './conversation.ts'
import { humanConversations } from './conversation-list.ts'
import { shortError } from './letter-causes.ts'
import { humanMessage } from './message.ts'
import { messageState } from './message-state.ts'
import { missingShards } from './missing-shards.ts'
import { humanDurations } from './route-work.ts'
import { listedSender, textWithMark } from './sender.ts'
import { unknownNames } from './unknown-names.ts'

export const printers: Printers = {
  'message-list': humanMessages,
  'message-search': humanMessages,
  'message-show': humanMessage,
  'message-attempts': humanAttempts,
  'message-durations': humanDurations,
  'message-histogram': humanHistogram,
  'message-resend': humanResend,
  'message-replay': humanReplay,
  'conversation-list': humanConversations,
  'conversation-show': humanConversation,
  'conversation-settle': () => 'Settled: nobody waits there until the next message.',
}

/** Maximum characters of a text in a list. */
const LONGEST_TEXT = 100

/**
 * The columns of messages. `timed`: the longest outcome with a time, which is never cut. Beside an
 * error, the text goes where there is no room for both.
 */
const messageColumns = (timed: number, hasErrors: boolean): readonly Column[] => [
  { title: 'id' },
  { title: 'age', piped: 'time' },
  { title: 'gateway', leftOut: 1 },
  { title: 'from', least: 10 },
  { title: 'outcome', least: Math.max(12, timed) },
  { title: 'route', leftOut: 2 },
  { title: 'event', least: 16, leftOut: 3 },
  { title: 'text', least: 20, ...(hasErrors ? { leftOut: 0 } : { share: 0.27 }) },
  { title: 'error', least: 20, share: 0.3, cutLast: true, leftOut: 0 },
]

/** The length of the longest state with a time, such as `retrying in 103 min`. */
function longestTimed(messages: readonly JsonObject[]): number {
  const timed = messages
    .map(messageState)
    .filter((state) => /^(?:(?:retrying|replying) in|running for) /.test(state))
  return Math.max(0, ...timed.map((state) => state.length))
}

/**
 * The state of a message. At a terminal, that of a handled one says whether it was answered, and its
 * number of attempts if it took several: `answered ×3`.
 */
function listedState(message: JsonObject): string {
  const { answered, unsent, attempt } = Object(message.attempt)
  if (!isTerminal() || message.outcome !== 'done') return messageState(message)
  const word = answered && !unsent ? 'answered' : messageState(message)
  return Number(attempt) > 1 ? `${word} ×${attempt}` : word
}

/** Why a message or its reply failed; empty if it did not. */
function errorOf({ outcome, attempt }: JsonObject): string {
  return shortError(failureOf(outcome, Object(attempt)) ?? '')
}

/**
 * `message-list` and `message-search`; only the latter has outcomes, and the `attempt` of each
 * message if it was asked for.
 */
export function humanMessages(found: Json, args: JsonObject = {}): Printable {
  const messages = objectsIn(Array.isArray(found) ? found : pathGet(found, 'messages'))
  const rows = messages.map((message) => {
    const { id, at, receivedAt, gateway, from, subject, summary, text, attempt } = message
    const content = textWithMark(
      listText(String(subject ?? summary ?? text ?? ''), LONGEST_TEXT),
      message.test ?? pathGet(message, 'data.replyTarget.test'),
    )
    return [
      shortId(id),
      listAge(at ?? receivedAt),
      gateway,
      listedSender(from),
      listedState(message),
      pathGet(attempt, 'route') ?? '',
      message.event ?? '',
      content,
      lineOf(errorOf(message), LONGEST_TEXT),
    ]
  })
  const next = pathGet(found, 'next')
  const list =
    rows.length === 0
      ? noData(`No messages.${unknownNames(found)}${errorHint(found, args)}${numberHint(args.search)}`)
      : messageRows(rows, longestTimed(messages))
  const older =
    next === undefined ? [] : [`Older ones: ${commandAgain('message list', args, { before: shortId(next) })}`]
  return withNotes(list, ...older, ...retriedSince(found, args), ...missingShards(found))
}

/**
 * The rows of messages. If few of them have an error, a terminal shows errors below the rows, to
 * leave room for the texts.
 */
function messageRows(rows: readonly (readonly unknown[])[], timed: number): string {
  const errors = rows.map((row) => String(row.at(-1)))
  const failed = errors.filter(Boolean).length
  const columns = messageColumns(timed, failed > 0)
  const areFew = isTerminal() && failed > 0 && failed * 2 <= rows.length
  const lines = areFew
    ? rowLines(
        messageColumns(timed, false).slice(0, -1),
        rows.map((row) => row.slice(0, -1)),
      )
    : undefined
  if (!lines) return lineTable(columns, rows)
  const width = process.stdout.columns
  return withBelow(
    lines,
    errors.map((error) => (error === '' ? [] : [`  ${shorten(error, width - 2)}`])),
  )
}

/** How many messages failed at first and were tried again since, beside a list of failed ones. */
function retriedSince(found: Json, args: JsonObject): string[] {
  const many = Number(pathGet(found, 'retriedSince') ?? 0)
  const filter = retriedSinceFilter(args)
  if (many === 0 || !filter) return []
  const { outcome: _, limit: _limit, search = '', ...others } = filter
  const all = { ...others, search: `${search} -status:failed`.trim() }
  return [
    `${counted(many, 'other', 'others')} failed at first, and ${many === 1 ? 'was' : 'were'} tried again since: ${commandAgain('message list', {}, all)}`,
  ]
}

/** For a search that found no messages: how to find those that have its text in their errors. */
function errorHint(found: Json, { search, text }: JsonObject): string {
  const dead = pathGet(found, 'deadWithError')
  const isRetrying = pathGet(found, 'retryingWithError') !== undefined
  const error = dead ?? (isRetrying ? (search ?? text) : undefined)
  if (typeof error !== 'string') return ''
  const letters =
    typeof dead === 'string'
      ? `, ${commandText('dead-letter list --error', dead)} (dead letters by cause)`
      : ''
  return ` In errors: ${commandText('message list --search', `error:"${error}"`)}${letters}`
}

/**
 * A search for a number does not find longer numbers that contain it, unless the number is in
 * quotes.
 */
function numberHint(search: Json | undefined): string {
  return typeof search === 'string' && /^\d+$/.test(search)
    ? ` In longer numbers: --search '"${search}"'`
    : ''
}

/** `message-attempts`. */
function humanAttempts(found: Json): Printable {
  const rows = objectsIn(found).map((one) => {
    const { id, route, attempt, ms, what, since, error, unsent, budget } = one
    const duration = ms === undefined ? '' : `${ms} ms`
    const took = since === undefined ? duration : `for ${age(since)}`
    const paused = objectsIn(one.pausedBy).map(({ kind, name }) => `${kind} ${name}`)
    const why = paused.length > 0 ? `paused: ${paused.join(', ')}` : (budget ?? error ?? unsent ?? '')
    return [shortId(id), route, attempt, what ?? 'running', took, listText(String(why), 80)]
  })
  return rows.length === 0 ? noData('No attempts.') : lineTable(ATTEMPT_COLUMNS, rows)
}

const ATTEMPT_COLUMNS: readonly Column[] = [
  ...['id', 'route', 'attempt', 'state', 'took'].map((title) => ({ title })),
  { title: 'why', least: 16 },
]

/** The longest bar, in characters. */
const BAR_LENGTH = 40

/** `message-histogram`. */
function humanHistogram(found: Json): string {
  const { from, width, counts, total } = Object(found)
  const spans: unknown[] = Array.isArray(counts) ? counts : []
  const highest = Math.max(1, ...spans.map(Number))
  const rows = spans.map((count, index) => [
    timeOf(from + index * width),
    count,
    '█'.repeat(Math.ceil((Number(count) / highest) * BAR_LENGTH)),
  ])
  const lines = [table(['from', 'messages', ''], rows), `${total} in all`, ...missingShards(found)]
  return lines.join('\n')
}

/** `message-resend`. */
function humanResend(result: Json): string {
  const { id, resends } = Object(result)
  return `Accepted again as ${id}; it is answered where ${resends} came from.`
}

/** `message-replay`, and `route replay`. */
export function humanReplay(found: Json, args: JsonObject): string {
  const { seen, routed, routes, unrouted, answered, more } = Object(found)
  const lines = Object.entries(Object(routes)).map(([route, count]) => `  ${count} to ${route}`)
  return [
    `${counted(seen, 'message')} looked at, ${routed} ${args.dryRun ? 'would be ' : ''}routed, ${unrouted} still without a route.`,
    ...lines,
    ...(answered > 0 ? [`${answered} left out: a worker has already answered.`] : []),
    ...(more > 0 ? [`${more} more, newer than these: run it again.`] : []),
  ].join('\n')
}
