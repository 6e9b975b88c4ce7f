import { type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import type { IdOf } from '../core/spoken.ts'
import { age, shorten } from '../lib/short-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'

type Source = Pick<Connection, 'invoke'>
/** What has an id, with words that tell it from others. */
type Candidate = { id: string; text: string }

/** Minimum number of characters: fewer fit too many ids. */
const MIN_PART = 4
/** Part of a UUID; lists at a terminal show its end. */
const ID_PART = /^…?([0-9a-f-]{4,35})$/i
/** Number of newest messages, or events of a topic, that are searched for an id. */
const MAX_SEARCHED = 2_000
/** Of dead letters and conversations, only one page is searched. */
const PAGE_SIZE = 500
/** Number of approvals, or jobs, that are searched. */
const MAX_LISTED = 1_000
const UUID_LENGTH = 36
/** Minimum width of the words beside a candidate, in characters. */
const MIN_TEXT_WIDTH = 20
/** The width of a line if stderr is not a terminal. */
const DEFAULT_WIDTH = 110
/** Number of candidates that an error names. */
const MAX_NAMED = 8

/**
 * Completes an id from its first or last characters, at least four. Returns
 * other texts unchanged. `args`: the other arguments, which may say where to look. Throws `usage`
 * with the candidates if several ids begin or end like this.
 */
export async function fullId(
  daemon: Source,
  given: string,
  kind: IdOf = 'message',
  args: JsonObject = {},
): Promise<string> {
  const [, part] = ID_PART.exec(given) ?? []
  const text = (part ?? given.replace(/^…/, '')).toLowerCase()
  // Only conversations have ids of any form.
  if (part === undefined && (kind !== 'conversation' || text.length < MIN_PART)) return given
  if (kind === 'conversation' && (await isConversation(daemon, given, args))) return given
  const found = new Map<string, string>()
  for await (const candidates of CANDIDATES[kind](daemon, text, args)) {
    if (candidates.some(({ id }) => id === given)) return given
    for (const { id, text: words } of candidates)
      if (id.toLowerCase().startsWith(text) || id.toLowerCase().endsWith(text)) found.set(id, words)
  }
  const [first, ...others] = found.keys()
  if (others.length === 0) return first ?? given
  const width = Math.max(MIN_TEXT_WIDTH, (process.stderr.columns || DEFAULT_WIDTH) - UUID_LENGTH - 4)
  const named = [...found]
    .slice(0, MAX_NAMED)
    .map(([id, words]) => `  ${id}  ${shorten(words, width)}`.trimEnd())
  const more = found.size > MAX_NAMED ? [`  … and ${found.size - MAX_NAMED} more`] : []
  throw usage([`${found.size} ids begin or end with ${text}; give more of it:`, ...named, ...more].join('\n'))
}

/** Whether a conversation has this id, however old it is. */
async function isConversation(
  daemon: Source,
  conversation: string,
  { gateway }: JsonObject,
): Promise<boolean> {
  const query = { conversation, limit: 1, ...(typeof gateway === 'string' && { gateway }) }
  return objectsIn(await daemon.invoke('message-list', query)).length > 0
}

/** Pages of what may be meant, for each kind of id. */
const CANDIDATES: Readonly<
  Record<IdOf, (daemon: Source, part: string, args: JsonObject) => AsyncGenerator<Candidate[]>>
> = {
  async *message(daemon, part, args) {
    yield* CANDIDATES['dead-letter'](daemon, part, args)
    const span = spanOf(part)
    if (span) yield* messagesIn(daemon, span)
    yield* messagesIn(daemon, {})
  },
  async *'dead-letter'(daemon) {
    const letters = objectsIn(await daemon.invoke('dead-letter-list', { limit: PAGE_SIZE }))
    yield letters.map(({ id, at, queue, group }) => candidateOf(id, at, queue, group))
  },
  async *event(daemon, _part, { topic }) {
    let before: string | undefined
    for (let seen = 0; seen < MAX_SEARCHED; seen += PAGE_SIZE) {
      const page = await daemon.invoke('event-list', { topic, limit: PAGE_SIZE, ...(before && { before }) })
      const events = objectsIn(pathGet(page, 'events'))
      yield events.map(({ id, timestamp, type }) => candidateOf(id, timestamp, type))
      const next = pathGet(page, 'next')
      if (typeof next !== 'string') return
      before = next
    }
  },
  async *refusal(daemon, _part, { gateway }) {
    const found = await daemon.invoke('refused', { gateway })
    yield objectsIn(pathGet(found, 'refusals')).map(({ id, at, reason }) => candidateOf(id, at, reason))
  },
  async *approval(daemon) {
    const requests = objectsIn(await daemon.invoke('approval-list', { limit: MAX_LISTED }))
    yield requests.map(({ id, requestedAt, status, title }) => candidateOf(id, requestedAt, status, title))
  },
  async *job(daemon) {
    const jobs = objectsIn(await daemon.invoke('job-list', { limit: MAX_LISTED }))
    yield jobs.map(({ id, startedAt, kind, state }) => candidateOf(id, startedAt, kind, state))
  },
  // The list of conversations begins with those in which somebody waits, however old they are.
  async *conversation(daemon, _part, { gateway }) {
    const query = { limit: PAGE_SIZE, ...(typeof gateway === 'string' && { gateway }) }
    for (const filter of [{}, { unanswered: true }]) {
      const page = await daemon.invoke('conversation-list', { ...query, ...filter })
      yield objectsIn(pathGet(page, 'conversations')).map(({ conversation, at, gateway: place, summary }) =>
        candidateOf(conversation, at, place, summary),
      )
    }
  },
}

function candidateOf(id: unknown, at: unknown, ...words: unknown[]): Candidate {
  const text = words.filter((word) => word !== undefined && word !== null).join(' ')
  return { id: String(id ?? ''), text: `${age(at)}  ${text}` }
}

async function* messagesIn(daemon: Source, span: JsonObject): AsyncGenerator<Candidate[]> {
  let before: string | undefined
  for (let seen = 0; seen < MAX_SEARCHED; seen += PAGE_SIZE) {
    const query = { ...span, limit: PAGE_SIZE, ...(before && { before }) }
    const page = await daemon.invoke('message-search', query)
    const messages = objectsIn(pathGet(page, 'messages'))
    yield messages.map(({ id, at, gateway, subject, summary, text }) =>
      candidateOf(id, at, gateway, subject ?? summary ?? text),
    )
    const next = pathGet(page, 'next')
    if (typeof next !== 'string') return
    before = next
  }
}

/** Hex digits of the time (ms) at the beginning of the id of a message. */
const TIME_DIGITS = 12

/** The span of time in which ids begin like this; undefined if none can. */
function spanOf(part: string): { since: string; until: string } | undefined {
  const digits = part.replaceAll('-', '').slice(0, TIME_DIGITS)
  const [first, last] = ['0', 'f'].map((digit) => Number.parseInt(digits.padEnd(TIME_DIGITS, digit), 16))
  if (first === undefined || last === undefined || first > Date.now()) return undefined
  return {
    since: new Date(first).toISOString(),
    until: new Date(Math.min(last, Date.now()) + 1).toISOString(),
  }
}
