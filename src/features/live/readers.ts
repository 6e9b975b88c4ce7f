import { isInRange } from '../../core/attempt-range.ts'
import type { Message } from '../../core/message.ts'
import { createMatcher, type Outcome } from '../../core/message-query.ts'
import { rowOf, searchOf } from '../../engine/search.ts'
import type { Reader, STREAM_EVENTS } from './stream.ts'

type StreamEvent = (typeof STREAM_EVENTS)[number]

/** A message with its outcome. */
export type MessageState = { message: Message; outcome: Outcome }

/** Maximum number of messages that a returning reader gets. */
export const MAX_REPLAYED = 1_000
/** Maximum number of messages whose outcomes are checked. */
export const MAX_WATCHED = 1_000

export type Readers = ReturnType<typeof createReaders>

/** The readers with their filters. `routeOf`: the route that a new message takes. */
export function createReaders(routeOf: (message: Message) => string | undefined) {
  /** `hasNew`: whether new messages, at which no attempt has ended, are wanted. */
  type Wanted = { matches(message: Message): boolean; outcomes: Outcome[] | undefined; hasNew: boolean }
  const readers = new Map<Reader, Wanted>()

  return {
    has: (reader: Reader) => readers.has(reader),
    count: () => readers.size,
    add(reader: Reader): void {
      const {
        outcomes,
        route,
        withoutRoutes = [],
        attempts,
        error,
        ...query
      } = searchOf(reader.filter, { kind: 'http' })
      const isRouted = (name = '') => (route === undefined || name === route) && !withoutRoutes.includes(name)
      const takes =
        route === undefined && withoutRoutes.length === 0
          ? reader.fits
          : (message: Message) => isRouted(routeOf(message)) && (reader.fits?.(message) ?? true)
      const hasNew = error === undefined && (!attempts || isInRange(0, attempts))
      readers.set(reader, { matches: withRouteKeys(createMatcher(query), takes), outcomes, hasNew })
    },
    /** Adds a reader that gets no messages yet, because the store is unreachable. */
    addWithoutMessages: (reader: Reader) =>
      void readers.set(reader, { matches: () => false, outcomes: undefined, hasNew: false }),
    remove: (reader: Reader) => readers.delete(reader),
    /** Sends an event to all readers that want it. */
    send(event: StreamEvent, data: unknown): void {
      for (const reader of readers.keys()) if (reader.wants(event)) reader.send(event, data)
    },
    /** Sends new messages, and the number of omitted ones (`missed`), to all readers or to one. */
    show(found: readonly MessageState[], missed: number, only?: Reader): void {
      for (const [reader, { matches, outcomes, hasNew }] of readers) {
        if ((only && reader !== only) || !hasNew || !reader.wants('message')) continue
        if (missed > 0) reader.missed(missed)
        for (const { message, outcome } of found) {
          const isWanted = matches(message) && (outcomes?.includes(outcome) ?? true)
          if (isWanted) reader.send('message', rowOf(message, outcome), message.id)
        }
      }
    },
    /**
     * Sends a new outcome (`at`: Unix ms). A reader that filters by outcome gets the message
     * instead, once its outcome is one of those.
     */
    sendOutcome({ message, outcome }: MessageState, before: Outcome, at: number): void {
      for (const [reader, { outcomes, matches, hasNew }] of readers) {
        if (!matches(message)) continue
        const isUnsent = outcomes && !outcomes.includes(before)
        if (isUnsent && reader.wants('message')) {
          if (hasNew && outcomes.includes(outcome)) reader.send('message', rowOf(message, outcome))
        } else if (reader.wants('outcome')) reader.send('outcome', { id: message.id, outcome, at })
      }
    },
  }
}

/**
 * Combines the query with the route keys of a reader (`fits`). The route keys need the whole
 * message, which is known only when it is new, so their result is remembered.
 */
function withRouteKeys(matches: (message: Message) => boolean, fits: Reader['fits']): typeof matches {
  if (!fits) return matches
  const results = new Map<string, boolean>()
  return (message) => {
    const result = results.get(message.id) ?? fits(message)
    results.set(message.id, result)
    dropOldest(results, MAX_WATCHED + MAX_REPLAYED)
    return result && matches(message)
  }
}

/** Removes the oldest entry of a map that has more than `max`. Call it after each addition. */
export function dropOldest(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}
