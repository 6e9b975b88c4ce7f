import { Worker } from 'node:worker_threads'
import type { AttemptRange } from '../../core/attempt-range.ts'
import { TriviumError } from '../../core/errors.ts'
import { decodeMessage } from '../../core/message.ts'
import { makeId, positionOf } from '../../core/message-id.ts'
import { createMatcher, idPartOf, isPlainText, type Outcome, plainPartOf } from '../../core/message-query.ts'
import type { CountedTimes, Journal, MessageSearch } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { foldedPattern } from '../../lib/fold-text.ts'
import type { Parts } from './parts.ts'
import { toStoreError } from './store-error.ts'

/**
 * A pattern for the payload. `idEnd`: messages whose id ends with this match too. `folded`: the
 * pattern for payloads that may have letters with marks.
 */
type Like = { pattern: string; idEnd: string | undefined; folded: string | undefined }
/** Request to search-worker.js. */
type Asked = {
  id: string | undefined
  likes: Like[]
  gateways: number[] | undefined
  withoutGateways: number[] | undefined
  conversation: { name: string; own: number } | undefined
  conversationName: { name: string; own: number } | undefined
  conversationPart: string | undefined
  outcomes: readonly Outcome[] | undefined
  route: string | undefined
  withoutRoutes: readonly string[] | undefined
  attempts: AttemptRange | undefined
  /** The source of a pattern. */
  error: string | undefined
  since: string
  until: string
  end: number
  limit: number
  /** Width (ms) of the spans; if given, counts by time instead of returning rows. */
  width?: number
  /** Counts each route of a span on its own. */
  byRoute?: boolean
}
type Row = { id: string; gateway: string; received_at: number; payload: string; outcome: Outcome }
/** Response of search-worker.js. */
type Answer = {
  error?: { message: string; errcode: number }
  rows: Row[]
  next?: string
} & Partial<CountedTimes>
type Waiting = { resolve(answer: Answer): void; reject(error: unknown): void }

/** Idle time (ms) after which the thread ends. */
const IDLE_TIMEOUT = 60_000
/** Sorts after every id. */
const LAST = 'g'
/** Maximum characters of an error that are compared. */
const MAX_ERROR = 1_000

/**
 * Searches the journal in a separate thread, started on first use, so that searches do not delay
 * messages.
 */
export function createSearch({ gateways }: Pick<Parts, 'gateways'>, path: string) {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  const waiting: Waiting[] = []

  const end = async (error: unknown) => {
    const ending = worker?.terminate()
    worker = undefined
    for (const one of waiting.splice(0)) one.reject(toStoreError(path, error))
    await ending
  }
  const begin = () => {
    const made = new Worker(new URL('./search-worker.js', import.meta.url), { workerData: path })
    made.on('message', (answer: Answer) => {
      // It was ended. Its answer is too late, and it must not be unref'd: the process could end
      // before the thread.
      if (worker !== made) return
      const asked = waiting.shift()
      if (waiting.length === 0) made.unref()
      if (answer.error) asked?.reject(toStoreError(path, Object.assign(new Error(), answer.error)))
      else asked?.resolve(answer)
    })
    made.on('error', (error) => void end(error))
    return made
  }
  const ask = (asked: Asked) => {
    clearTimeout(idle)
    idle = setTimeout(() => void end(new Error('the search thread is idle')), IDLE_TIMEOUT).unref()
    worker ??= begin()
    worker.ref()
    worker.postMessage(asked)
    return new Promise<Answer>((resolve, reject) => waiting.push({ resolve, reject }))
  }

  const search: Journal['search'] = async (query) => {
    const asked = toAsked(query, gateways)
    if (!asked) return { found: [] }
    const { rows, next } = await ask(asked)
    const matches = createMatcher(query)
    const found = rows.map(({ payload, outcome, received_at: receivedAt, ...head }) => {
      return { message: decodeMessage({ ...head, receivedAt }, payload), outcome }
    })
    return { found: found.filter(({ message }) => matches(message)), ...defined({ next }) }
  }

  const countByTime: Journal['countByTime'] = async (query, width, byRoute = false) => {
    const asked = toAsked(headsOf(query), gateways)
    const { counts = [], countedTo } = asked ? await ask({ ...asked, width, byRoute }) : {}
    return { counts, ...defined({ countedTo }) }
  }

  return {
    search,
    countByTime,
    close() {
      clearTimeout(idle)
      return end(new TriviumError('store_unavailable', { store: path, reason: 'it is closed' }))
    },
  }
}

/** What the database can evaluate of a query: a superset. Undefined: nothing can match. */
function toAsked(query: MessageSearch, gateways: Parts['gateways']): Asked | undefined {
  const { id, transport, event, sender, before, outcomes, route, withoutRoutes, attempts, error, limit } =
    query
  const names = query.gateways?.flatMap((name) => gateways.find(name) ?? [])
  if (names?.length === 0) return undefined
  const parts = [sender, query.text].filter((part) => part !== undefined)
  const words = [...(query.words ?? []), ...(query.numbers ?? [])]
  const fields = Object.entries(defined({ transport, event })).filter(([, value]) => isPlainText(value))
  return {
    id,
    // An underscore matches any character: `search` removes the additional rows.
    likes: [
      ...parts.flatMap((part) => likeOf(part, undefined)),
      ...words.flatMap((word) => likeOf(word, idPartOf(word))),
      ...fields.map(([name, value]) => ({ ...EXACT, pattern: `%"${name}":"${value}"%` })),
    ],
    gateways: names,
    withoutGateways: query.withoutGateways?.flatMap((name) => gateways.find(name) ?? []),
    conversation: placed(query.conversation),
    conversationName: placed(query.conversationName),
    conversationPart: isPlainText(query.conversationPart) ? query.conversationPart.toLowerCase() : undefined,
    outcomes,
    route,
    withoutRoutes,
    attempts,
    error: error === undefined ? undefined : foldedPattern(error.slice(0, MAX_ERROR)),
    since: makeId(query.since ?? 0, 0, 0),
    until: query.until === undefined ? LAST : makeId(query.until, 0, 0),
    end: before === undefined ? Number.MAX_SAFE_INTEGER : (positionOf(before) ?? 0),
    limit,
  }
}

const EXACT = { idEnd: undefined, folded: undefined }

/** A conversation. A message without one is its own: `own` is its position. */
function placed(name: string | undefined) {
  return name === undefined ? undefined : { name, own: positionOf(name) ?? 0 }
}

/** The pattern of a part, if the database can search for it. */
function likeOf(part: string, idEnd: string | undefined): Like[] {
  const plain = plainPartOf(part)
  if (plain === undefined) return []
  return [{ pattern: `%${plain}%`, idEnd, folded: /[a-z]/.test(plain) ? foldedPattern(plain) : undefined }]
}

/** The parts of a query that need no message content. */
function headsOf({
  gateways,
  withoutGateways,
  conversation,
  conversationName,
  outcomes,
  route,
  withoutRoutes,
  attempts,
  error,
  since,
  until,
}: Omit<MessageSearch, 'limit'>): MessageSearch {
  const routes = { route, withoutRoutes, attempts, error }
  const conversations = { conversation, conversationName }
  return { gateways, withoutGateways, ...conversations, ...routes, outcomes, since, until, limit: 0 }
}
