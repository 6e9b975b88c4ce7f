import type { Message } from '../../core/message.ts'
import { createMatcher, type Outcome } from '../../core/message-query.ts'
import { rowOf, searchOf } from '../../engine/search.ts'
import type { Reader, STREAMED } from './stream.ts'

type Event = (typeof STREAMED)[number]

/** A message with its outcome. */
export type Watched = { message: Message; outcome: Outcome }

/** Maximum number of messages replayed to a returning reader, and of watched outcomes. */
export const REPLAYED = 1_000
export const WATCHED = 1_000

export type Readers = ReturnType<typeof createReaders>

/** The readers with their filters. */
export function createReaders() {
  const readers = new Map<Reader, { matches(message: Message): boolean; outcomes: Outcome[] | undefined }>()

  return {
    has: (reader: Reader) => readers.has(reader),
    count: () => readers.size,
    add(reader: Reader): void {
      const { outcomes, ...query } = searchOf(reader.filter, { kind: 'http' })
      readers.set(reader, { matches: remembered(createMatcher(query), reader.fits), outcomes })
    },
    /** Adds a reader without messages, while the store is unreachable. */
    addBlind: (reader: Reader) => void readers.set(reader, { matches: () => false, outcomes: undefined }),
    remove: (reader: Reader) => readers.delete(reader),
    tell(event: Event, data: unknown): void {
      for (const reader of readers.keys()) if (reader.wants(event)) reader.send(event, data)
    },
    /** Sends new messages that match to one reader, or to all, with the number of omitted ones. */
    show(found: readonly Watched[], missed: number, only?: Reader): void {
      for (const [reader, { matches, outcomes }] of readers) {
        if ((only && reader !== only) || !reader.wants('message')) continue
        if (missed > 0) reader.missed(missed)
        for (const { message, outcome } of found) {
          const isMeant = matches(message) && (outcomes?.includes(outcome) ?? true)
          if (isMeant) reader.send('message', rowOf(message, outcome), message.id)
        }
      }
    },
    /** A reader that filters by outcome gets a message once it has one of them. */
    tellOutcome({ message, outcome }: Watched, before: Outcome, at: number): void {
      for (const [reader, { outcomes: wanted, matches }] of readers) {
        if (!matches(message)) continue
        if (wanted && !wanted.includes(before) && reader.wants('message')) {
          if (wanted.includes(outcome)) reader.send('message', rowOf(message, outcome))
        } else if (reader.wants('outcome')) reader.send('outcome', { id: message.id, outcome, at })
      }
    },
  }
}

/** A match that reads the full message once, when it is shown. Watched messages are shortened later. */
function remembered(matches: (message: Message) => boolean, fits: Reader['fits']): typeof matches {
  const known = new Map<string, boolean>()
  if (!fits) return matches
  return (message) => {
    const answer = known.get(message.id) ?? fits(message)
    known.set(message.id, answer)
    for (const id of known.keys()) if (known.size > WATCHED + REPLAYED) known.delete(id)
    return answer && matches(message)
  }
}
