import { isInRange } from '../../core/attempt-range.ts'
import { isId, timeOf } from '../../core/message-id.ts'
import { createMatcher, idPartOf, plainPartOf, wordsOf } from '../../core/message-query.ts'
import type { FoundMessages, MessageSearch } from '../../core/store.ts'
import { foldedTest } from '../../lib/fold-text.ts'
import { type Entry, idOf, messageOf, parseHead, positionIn } from './codec.ts'
import { createCount } from './count.ts'
import { lastBefore } from './last-before.ts'
import type { Places } from './layout.ts'
import type { Lookup } from './lookup.ts'
import { nameTester, routeTester } from './query-tests.ts'
import { readBack } from './read-back.ts'
import { digest } from './roots.ts'
import type { Server } from './scripts.ts'

/** Approximate duration (ms) of a search. */
const CALL_TIME = 200
/** A search ends once its results have this many characters. */
const LARGEST = 4_000_000

/**
 * Searches the journal from its end, in slices. There is no index: most filters are about the
 * content of messages.
 */
export function createSearch(
  server: Pick<Server, 'call' | 'run'>,
  main: string,
  places: Places,
  { outcomes, routes, attempts, errors }: Lookup,
) {
  const { call } = server
  /**
   * The place of the last message before an id. The id may be of another shard; ids ascend within
   * each shard.
   */
  const placeBefore = async (id: string) => {
    const own = places.placeOf(id)
    if (own !== undefined || !isId(id)) return (own ?? 0) - 1
    return lastBefore(call, main, ({ time, tail }, position) => places.idAt(time, position, tail) < id)
  }
  /** The place at which a search begins, so that newer messages are not read. */
  const placeOfEnd = async ({ before, until }: MessageSearch) => {
    const place = before === undefined ? Number.MAX_SAFE_INTEGER : await placeBefore(before)
    if (until === undefined) return place
    const begin = before !== undefined && isId(before) ? timeOf(before) : Number.POSITIVE_INFINITY
    // Later pages begin before `until` anyway.
    return begin <= until ? place : Math.min(place, await lastBefore(call, main, ({ time }) => time < until))
  }

  const search = async (query: MessageSearch): Promise<FoundMessages> => {
    const deadline = performance.now() + CALL_TIME
    const { gateways, conversation, limit, since = 0 } = query
    const [wanted, own] = conversationIn(places, conversation)
    const matches = createMatcher(query)
    const isNamed = nameTester(query.conversationName, places)
    const hasError = query.error === undefined ? undefined : foldedTest(query.error)
    const read = readBack(server, main, places, query.id)
    const parts = partsOf(query)
    const mayMatch = (entry: Entry) => {
      const [, [, head, , payload]] = entry
      const origin = parseHead(head)
      if (gateways && !gateways.includes(origin.gateway)) return false
      if (query.withoutGateways?.includes(origin.gateway)) return false
      if (wanted !== undefined && origin.conversation !== wanted && positionIn(entry) !== own) return false
      if (!isNamed(entry, origin)) return false
      if (parts.length === 0) return true
      const endsId = (end: string | undefined) => end !== undefined && idOf(entry, places).endsWith(end)
      return parts.every(({ isIn, idEnd }) => isIn(payload) || endsId(idEnd))
    }
    const found: FoundMessages['found'] = []
    let size = 0
    let from = await placeOfEnd(query)
    while (from > 0) {
      const { entries, last, isEnd } = await read(from)
      const messages = entries
        .filter(mayMatch)
        .map((entry) => messageOf(entry, places))
        .filter(matches)
      const ids = messages.map(({ id }) => id)
      const known = await outcomes(ids)
      const takes = routeTester(query)
      const taken = takes && (await routes(ids))
      const tried = query.attempts && (await attempts(ids))
      const failed = hasError && (await errors(ids))
      for (const [index, message] of messages.entries()) {
        const outcome = known[index]
        if (!outcome || (query.outcomes && !query.outcomes.includes(outcome))) continue
        if (takes && !takes(taken?.[index])) continue
        if (query.attempts && !isInRange(tried?.[index] ?? 0, query.attempts)) continue
        if (hasError && !hasError(failed?.[index])) continue
        found.push({ message, outcome })
        size += message.text.length
        if (found.length >= limit || size > LARGEST) return { found, next: message.id }
      }
      if (!last || isEnd) break
      from = last.place - 1
      if (timeOf(last.id) < since) break
      if (performance.now() > deadline) return { found, next: last.id }
    }
    return { found }
  }

  return { search, countByTime: createCount(call, main, places, { outcomes, routes, attempts, errors }) }
}

/** Tests for the parts of a query in payloads, as far as payloads have them as plain text. */
function partsOf(query: MessageSearch) {
  return [query.sender, ...wordsOf(query)]
    .filter((part) => part !== undefined && plainPartOf(part) !== undefined)
    .map((part = '') => ({ isIn: foldedTest(part), idEnd: idPartOf(part) }))
}

/** The digest of a conversation, and its place if it is a message. */
function conversationIn(
  places: Places,
  name: string | undefined,
): [digest?: string, place?: number | undefined] {
  return name === undefined ? [] : [digest(name), places.placeOf(name)]
}
