import type { LogReading } from '../../core/activity.ts'
import { TriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { timeOf } from '../../core/message-id.ts'
import { isRegex } from '../../core/pattern.ts'
import { DAY } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import type { Connection } from '../connection.ts'
import { withAttempts } from '../with-attempts.ts'
import { type Entry, entryOfDecision, entryOfLetter, entryOfLine, entryOfMessage, isAnswer } from './entry.ts'
import { createFilter, type HistoryFilter } from './filter.ts'
import { createNewest } from './newest.ts'

/** Messages or dead letters of one call. */
const PAGE = 200
/** Decisions of one call, for which the daemon reads all requests that it keeps. */
const DECISIONS_PAGE = 1_000
/**
 * A message that waited has its line where it was dispatched, after lines of later messages, but
 * not more than this (ms): the journal keeps messages for a week.
 */
const LONGEST_WAIT = 8 * DAY

type Sources = {
  /** The store; undefined if it cannot be read. */
  store: Pick<Connection, 'running' | 'invoke'> | undefined
  /** messages.jsonl, newest first. */
  lines: LogReading['entries']
  /** Called while the journal is searched, with the time (Unix ms) back to which that is done. */
  progress?: ((searchedTo: number) => void) | undefined
}

/**
 * The newest entries of four sources, oldest first, each once: the messages of the journal, the
 * lines of messages.jsonl (sent answers, and messages that the journal does not have any more), the
 * dead letters of the outbox (answers that were not sent), and the decisions about approvals. Reads
 * all of them newest first, and only as far as the page needs.
 */
export async function readHistory(sources: Sources, filter: HistoryFilter, limit: number) {
  const { store, lines, progress } = sources
  const newest = createNewest<Entry>(limit)
  const ids = new Set<unknown>()
  const senders = new Set<unknown>()
  const accepts = createFilter(filter, { ids, senders })
  /** Messages without a line in messages.jsonl: no skill has taken them yet. */
  const untaken = new Set<unknown>()
  for (const query of queriesOf(filter)) {
    if (!store) break
    for await (const message of messagesOf(store, query, {
      progress: query === filter ? progress : undefined,
      bound: newest.bound,
    })) {
      const entry = entryOfMessage(message)
      if (entry.time < newest.bound()) break
      if (ids.has(entry.meta.messageId)) continue
      ids.add(entry.meta.messageId)
      untaken.add(entry.meta.messageId)
      if (filter.conversation !== undefined) senders.add(entry.meta.from)
      if (accepts(entry)) newest.add(entry)
    }
  }
  const reach = filter.since ?? ''
  for await (const line of lines) {
    const entry = entryOfLine(line)
    const [bound = ''] = [newest.bound(), reach].sort().reverse()
    if (bound !== '' && entry.time < (isAnswer(entry) ? bound : earlier(bound))) break
    const { messageId } = entry.meta
    if (isAnswer(entry) ? accepts(entry) : !ids.has(messageId) && accepts(entry)) newest.add(entry)
    else untaken.delete(messageId)
  }
  if (store)
    for await (const letter of lettersOf(store, filter)) {
      if (new Date(Number(letter.at)).toISOString() < newest.bound()) break
      const entry = entryOfLetter(letter)
      if (accepts(entry)) newest.add(entry)
    }
  const addDecisions = async (daemon: Pick<Connection, 'invoke'>) => {
    for await (const entry of decisionsOf(daemon, filter)) {
      if (entry.time < newest.bound()) break
      if (accepts(entry)) newest.add(entry)
    }
  }
  // Only a daemon knows the decisions, and not every token may read them.
  if (store) await addDecisions(store).catch(() => undefined)
  const { entries, more } = newest.page()
  const waiting = entries.filter(({ meta }) => untaken.has(meta.messageId))
  return { entries: await withStates(store, entries, waiting), more }
}

/** The searches of the journal for a filter: words may be in a text, or in the name of its sender. */
function queriesOf(filter: HistoryFilter): HistoryFilter[] {
  const { grep, sender } = filter
  if (grep === undefined || isRegex(grep) || sender !== undefined) return [filter]
  return [filter, { ...filter, grep: undefined, sender: grep }]
}

/** The messages and unsent answers of the store since a time (Unix ms), oldest first. */
export async function entriesSince(
  store: Pick<Connection, 'invoke'>,
  filter: HistoryFilter,
  from: number,
): Promise<Entry[]> {
  const since = new Date(from).toISOString()
  const found: Entry[] = []
  for await (const message of messagesOf(store, { ...filter, since })) found.push(entryOfMessage(message))
  for await (const letter of lettersOf(store, { since })) found.push(entryOfLetter(letter))
  return found.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0))
}

/** The decisions about approvals since a time (Unix ms). */
export function decisionsSince(store: Pick<Connection, 'invoke'>, from: number): Promise<Entry[]> {
  return Array.fromAsync(decisionsOf(store, { since: new Date(from).toISOString() }))
}

function earlier(time: string): string {
  return new Date(Date.parse(time) - LONGEST_WAIT).toISOString()
}

/** Ends a reading of the journal: `bound()` is the time (ISO) of the oldest entry that is needed. */
type Reading = Pick<Sources, 'progress'> & { bound?(): string }

/**
 * The messages of the journal that can be answered, newest first. Each call searches for about a
 * second.
 */
async function* messagesOf(
  store: Pick<Connection, 'invoke'>,
  filter: HistoryFilter,
  { progress, bound = () => '' }: Reading = {},
) {
  const { channel, conversation, sender, grep, since, before: until } = filter
  const isOne = channel !== undefined && /^[\w-]+$/.test(channel)
  const text = grep === undefined || isRegex(grep) ? undefined : grep
  const gateway = isOne ? channel : undefined
  const query = defined({ gateway, conversation, sender, text, since, until })
  let before: Json | undefined
  do {
    const args = { ...query, ...defined({ before }), answerable: true, limit: PAGE }
    const { messages, next, searchedTo } = await partOf(store, args)
    yield* objectsIn(messages)
    before = next
    if (typeof searchedTo !== 'number') return
    if (new Date(searchedTo).toISOString() < bound()) return
    progress?.(searchedTo)
  } while (before !== undefined)
}

/** A part of `message-list`. A daemon of an older version, which knows no parts, gives a whole page. */
async function partOf({ invoke }: Pick<Connection, 'invoke'>, args: JsonObject): Promise<JsonObject> {
  try {
    return Object(await invoke('message-list', { ...args, partial: true }))
  } catch (error) {
    if (!(error instanceof TriviumError) || error.code !== 'skill_args_invalid') throw error
    const messages = objectsIn(await invoke('message-list', args))
    const last = messages.at(-1)?.id
    if (typeof last !== 'string') return { messages }
    return { messages, next: last, searchedTo: timeOf(last) }
  }
}

/** The answers that were not sent, by the time of their last attempt, newest first. */
async function* lettersOf(store: Pick<Connection, 'invoke'>, { since }: HistoryFilter) {
  let before: string | undefined
  for (;;) {
    const args = { queue: 'outbox', limit: PAGE, ...defined({ before, since }) }
    const page = objectsIn(await store.invoke('dead-letter-list', args))
    yield* page
    const last = page.at(-1)
    if (last === undefined) return
    before = `${last.at}/${last.id}`
  }
}

/** The decisions about approvals, newest first. */
async function* decisionsOf({ invoke }: Pick<Connection, 'invoke'>, { since, before: until }: HistoryFilter) {
  let before: string | undefined
  for (;;) {
    const args = { status: 'decided', ...defined({ since, until, before }), limit: DECISIONS_PAGE }
    const requests = objectsIn(await invoke('approval-list', args))
    const places = requests.map((request) => ({
      request,
      at: Number(request.decidedAt ?? request.expiresAt),
      id: String(request.id),
    }))
    const decided = places.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
    yield* decided.flatMap(({ request }) => entryOfDecision(request) ?? [])
    const last = decided.at(-1)
    if (last === undefined || decided.length < DECISIONS_PAGE) return
    before = `${last.at}/${last.id}`
  }
}

/** Adds its outcome to each message that waits, and what it waits for. */
async function withStates(
  store: Sources['store'],
  entries: readonly Entry[],
  waiting: readonly Entry[],
): Promise<Entry[]> {
  if (!store?.running || waiting.length === 0) return [...entries]
  const asked = waiting.map(({ meta }) => ({ id: String(meta.messageId) }))
  const found = objectsIn(Object(await withAttempts(store, { messages: asked })).messages)
  const states = new Map(found.map(({ id, attempt }) => [id, attempt]))
  return entries.map((entry) => {
    const attempt: JsonObject = Object(states.get(String(entry.meta.messageId)))
    const { outcome } = attempt
    if (isAnswer(entry) || outcome === undefined) return entry
    return { ...entry, meta: { ...entry.meta, outcome, attempt } }
  })
}
