import { type Json, type JsonObject, objectsIn, pathGet } from '../core/json.ts'
import type { IdOf } from '../core/spoken.ts'
import { defined } from '../lib/defined.ts'
import type { Connection } from './connection.ts'

type Source = Pick<Connection, 'invoke'>
/** What has an id, with words that tell it from others. `at`: its time (Unix ms). */
export type Candidate = { id: string; at: unknown; words: string }
/**
 * `at`: those since this time (Unix ms) were read. `isCut`: older ones are not listed. `isWhole`: all
 * ids that begin with the part were read.
 */
type Found = { candidates: Candidate[]; at?: unknown; isCut?: boolean; isWhole?: boolean }
type Read = (daemon: Source, part: string, args: JsonObject) => AsyncGenerator<Found>

/** Number of objects per page. */
const PAGE_SIZE = 500
/** Maximum number of approvals, or jobs, in a list. */
const MAX_LISTED = 1_000
/** Maximum number of attempts of a push. */
const MAX_ATTEMPTS = 300
/** Number of messages or conversations with a part; more than an error names. */
const MAX_FOUND = 20
/** The topic of messages, whose events have the ids of the messages. */
const MESSAGE_TOPIC = 'gateway-message'

/** Pages of objects whose ids may begin or end with a part, for each kind of id. */
export const CANDIDATES: Readonly<Record<IdOf, Read>> = {
  async *message(daemon, part, args) {
    const span = spanOf(part)
    if (span) {
      yield* messagesWith(daemon, part, span)
      yield { candidates: [], at: Date.parse(span.since), isWhole: true }
    }
    yield* messagesWith(daemon, part, {})
    yield* CANDIDATES['dead-letter'](daemon, part, args)
  },
  async *'dead-letter'(daemon) {
    let before: string | undefined
    do {
      const letters = objectsIn(
        await daemon.invoke('dead-letter-list', { limit: PAGE_SIZE, ...defined({ before }) }),
      )
      yield page(letters, ({ id, at, queue, group }) => candidateOf(id, at, queue, group))
      const last = letters.at(-1)
      before = last && `${last.at}/${last.id}`
    } while (before !== undefined)
  },
  async *event(daemon, part, { topic: given, name }) {
    if (given === undefined) yield await attemptedBy(daemon, name)
    const topic = given ?? (await topicOf(daemon, name))
    if (topic === MESSAGE_TOPIC) return yield* messagesWith(daemon, part, {})
    yield* pagesOf(
      daemon,
      'event-list',
      { topic: topic ?? MESSAGE_TOPIC },
      'events',
      ({ id, timestamp, type }) => candidateOf(id, timestamp, type),
    )
  },
  async *audit(daemon) {
    yield* pagesOf(daemon, 'audit-list', {}, 'entries', ({ id, at, action, by }) =>
      candidateOf(id, at, action, by),
    )
  },
  async *refusal(daemon, _part, { gateway }) {
    const found = await daemon.invoke('refused', { gateway })
    yield page(objectsIn(pathGet(found, 'refusals')), ({ id, at, reason }) => candidateOf(id, at, reason))
  },
  async *approval(daemon) {
    for (const status of ['pending', 'decided']) {
      const requests = objectsIn(await daemon.invoke('approval-list', { status, limit: MAX_LISTED }))
      yield cutPage(requests, ({ id, requestedAt, title, ...each }) =>
        candidateOf(id, requestedAt, each.status, title),
      )
    }
  },
  async *job(daemon) {
    const jobs = objectsIn(await daemon.invoke('job-list', { limit: MAX_LISTED }))
    yield cutPage(jobs, ({ id, startedAt, kind, state }) => candidateOf(id, startedAt, kind, state))
  },
  async *trouble(daemon) {
    const { troubles }: JsonObject = Object(await daemon.invoke('troubles', {}))
    yield page(objectsIn(troubles ?? null), ({ id, since, title }) => candidateOf(id, since, title))
  },
  async *conversation(daemon, part, { gateway }) {
    const query = {
      conversationPart: part,
      limit: MAX_FOUND,
      ...(typeof gateway === 'string' && { gateway }),
    }
    yield* pagesOf(daemon, 'conversation-list', query, 'conversations', (one) =>
      candidateOf(one.conversation, one.at, one.gateway, one.summary),
    )
  },
}

/** The events that a push subscription has tried to send; the topic may no longer have them. */
async function attemptedBy(daemon: Source, name: unknown): Promise<Found> {
  const query = { name: String(name), limit: MAX_ATTEMPTS }
  const push = await daemon.invoke('subscription-show', query).catch(() => null)
  return page(objectsIn(pathGet(push, 'attempts')), ({ event, at, reason, status }) =>
    candidateOf(event, at, reason ?? status),
  )
}

/** The topic of a push subscription. */
async function topicOf(daemon: Source, name: unknown): Promise<Json | undefined> {
  const subscriptions = objectsIn(await daemon.invoke('subscription-list', {}))
  return subscriptions.find((one) => one.name === name)?.topic
}

function candidateOf(id: unknown, at: unknown, ...words: unknown[]): Candidate {
  const text = words.filter((word) => word !== undefined && word !== null).join(' ')
  return { id: String(id ?? ''), at, words: text }
}

function page(objects: readonly JsonObject[], read: (one: JsonObject) => Candidate): Found {
  const candidates = objects.map(read)
  return { candidates, at: candidates.at(-1)?.at }
}

/** A list without a next page, which may be cut. */
function cutPage(objects: readonly JsonObject[], read: (one: JsonObject) => Candidate): Found {
  return { ...page(objects, read), isCut: objects.length >= MAX_LISTED }
}

/** The pages of a list with `next`. */
async function* pagesOf(
  daemon: Source,
  operation: string,
  query: JsonObject,
  list: string,
  read: (one: JsonObject) => Candidate,
): AsyncGenerator<Found> {
  let before: Json | undefined
  do {
    const args = { limit: PAGE_SIZE, ...query, ...defined({ before }) }
    const answer: JsonObject = Object(await daemon.invoke(operation, args))
    const found = page(objectsIn(answer[list]), read)
    yield { ...found, at: answer.searchedTo ?? found.at }
    before = answer.next
  } while (before !== undefined)
}

/** The store compares the ids, so that a page is rarely full. */
function messagesWith(daemon: Source, part: string, span: JsonObject): AsyncGenerator<Found> {
  const query = { ...span, id: part, limit: MAX_FOUND }
  return pagesOf(daemon, 'message-search', query, 'messages', (one) =>
    candidateOf(one.id, one.at, one.gateway, one.subject ?? one.summary ?? one.text),
  )
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
