import { isIP } from 'node:net'
import { isTest, type Message } from '../core/message.ts'

/** Maximum number of senders that are counted. */
const MOST_SENDERS = 1_000
/** Maximum number of senders that are named. */
const MOST_NAMED = 3

/** A sender of failed messages. `since`: when the oldest of them arrived (Unix ms); `messageId`: that one. */
export type WaitingSender = {
  from: Message['from']
  gateway: string
  since: number
  messageId: string
}

/** The people who wait because of a failure: their number, up to 1,000, and those who wait longest, up to 3. */
export type WaitingPeople = { people: number; longest: WaitingSender[] }

/** The senders of failed messages. Nobody waits for the outcome of tests. */
export function createSenders() {
  const senders = new Map<string, WaitingSender>()
  return {
    add(message: Message): void {
      if (isTest(message)) return
      const { gateway, from, id: messageId, receivedAt: since } = message
      const key = `${gateway}:${from.id}`
      const known = senders.get(key)
      if (known ? since < known.since : senders.size < MOST_SENDERS)
        senders.set(key, { from, gateway, since, messageId })
    },
    /** Those who are people. A delivery that names no sender has the address of a machine. */
    people: (): WaitingSender[] => [...senders.values()].filter(({ from }) => isIP(from.id) === 0),
    /** The number of all, up to 1,000. */
    count: (): number => senders.size,
  }
}

/** The people of several lists, each once; undefined if there are none. */
export function waitingPeople(lists: readonly (readonly WaitingSender[])[]): WaitingPeople | undefined {
  const oldest = lists.flat().toSorted((one, other) => one.since - other.since)
  const people = new Map(oldest.toReversed().map((one) => [`${one.gateway}:${one.from.id}`, one]))
  const longest = [...people.values()].toSorted((one, other) => one.since - other.since).slice(0, MOST_NAMED)
  return longest.length === 0 ? undefined : { people: people.size, longest }
}
