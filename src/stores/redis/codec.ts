import type { Event, NewEvent } from '../../core/event.ts'
import type { Json } from '../../core/json.ts'
import { decodeMessage, type Message } from '../../core/message.ts'
import { makeId, positionOf, timeOf } from '../../core/message-id.ts'
import type { Note } from '../../core/store.ts'
import { listOf, numberOf, textOf } from './reply.ts'

/**
 * An entry of a log: a stream entry with the ID `<position>-0`, its values in the order in which scripts
 * write them: time of the id, tail, offset of receivedAt or timestamp; then for messages gateway,
 * conversation and payload, for events the payload.
 */
export type Entry = { position: number; values: readonly unknown[] }

export function entryOf(reply: unknown): Entry {
  const [id, fields] = listOf(reply)
  return { position: Number.parseInt(textOf(id), 10), values: listOf(fields) }
}

/** The message of a journal entry. */
export function messageOf({ position, values }: Entry): Message {
  return toMessage(position, values[1], values[3], values[5], values[7], values[11])
}

/** The message that a dead letter, or a job made from one, carries in fields of its own. */
export function storedMessage(fields: Map<string, string>): Message | undefined {
  if (!fields.has('p')) return undefined
  const [time, tail, offset, gateway, payload] = ['t', 'r', 'o', 'w', 'p'].map((name) => fields.get(name))
  return toMessage(numberOf(fields.get('v')), time, tail, offset, gateway, payload)
}

function toMessage(
  position: number,
  time: unknown,
  tail: unknown,
  offset: unknown,
  gateway: unknown,
  payload: unknown,
): Message {
  const id = makeId(numberOf(time), position, numberOf(tail))
  const receivedAt = numberOf(time) + numberOf(offset)
  return decodeMessage({ id, gateway: textOf(gateway), receivedAt }, textOf(payload))
}

/** What a topic keeps of an event beside its id and time. */
export function encodeEvent({ type, source, data, rootContextId }: NewEvent): string {
  return JSON.stringify({ type, source, data, rootContextId })
}

/** The event of a topic's entry. */
export function eventOf(topic: string, { position, values }: Entry): Event {
  const time = numberOf(values[1])
  const stored = JSON.parse(textOf(values[7])) as Omit<Event, 'id' | 'topic' | 'timestamp'>
  return {
    ...stored,
    id: makeId(time, position, numberOf(values[3])),
    topic,
    timestamp: time + numberOf(values[5]),
  }
}

/** Position, time and tail of an id, as scripts take them; undefined where the text is no id of ours. */
export function idParts(id: string): [number, number, number] | undefined {
  const position = positionOf(id)
  if (position === undefined) return undefined
  return [
    position,
    timeOf(id),
    (Number.parseInt(id.slice(24, 28), 16) & 3) * 2 ** 32 + Number.parseInt(id.slice(28), 16),
  ]
}

/**
 * The ids that `accept` and `publish` of the scripts answered: first the time of new ids, then per item
 * a position, or for a duplicate the parts of the first one's id. `tails` are those that were sent.
 */
export function idsFrom(reply: unknown, tails: readonly number[]): { id: string; duplicate: boolean }[] {
  const [time, ...answers] = listOf(reply)
  return answers.map((answer, index) => {
    if (typeof answer === 'number') {
      return { id: makeId(numberOf(time), answer, tails[index]), duplicate: false }
    }
    const [first, position, tail] = textOf(answer).split(':').map(Number)
    return { id: makeId(first ?? 0, position ?? 0, tail), duplicate: true }
  })
}

const ROADS = { dispatch: 'd', receive: 'r', outbox: 'o' } as const
const ROAD_OF: Record<string, Note['road']> = { d: 'dispatch', r: 'receive', o: 'outbox' }

/** Notes in their short form, one a line: `[at,"d","what",detail?]`. */
export function encodeNotes(notes: readonly Note[]): string {
  return notes
    .map(({ at, road, what, detail }) =>
      JSON.stringify(detail === undefined ? [at, ROADS[road], what] : [at, ROADS[road], what, detail]),
    )
    .join('\n')
}

export function decodeNote(line: string): Note {
  const [at, road, what, detail] = listOf(JSON.parse(line))
  const note = { at: numberOf(at), road: ROAD_OF[textOf(road)] ?? 'dispatch', what: textOf(what) }
  return detail === undefined ? note : { ...note, detail: detail as Json }
}
