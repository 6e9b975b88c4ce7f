import type { Event } from '../../core/event.ts'
import type { Json } from '../../core/json.ts'
import { type Accepted, decodeMessage, type Message } from '../../core/message.ts'
import { makeId } from '../../core/message-id.ts'
import type { Note } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { inBatches } from './batches.ts'
import type { Places } from './layout.ts'
import type { Args, Server } from './scripts.ts'

/** A log entry as Redis returns it; `lua/lib/log.lua` defines its ID and head. */
export type Entry = [id: string, fields: ['h', head: string, 'p', payload: string]]

export const positionIn = ([id]: Entry) => Number.parseInt(id, 10)

/** The message of a journal entry. */
export function messageOf(entry: Entry, places: Places): Message {
  const [, [, head, , payload]] = entry
  const { receivedAt, gateway } = parseHead(head)
  return decodeMessage({ id: idOf(entry, places), gateway, receivedAt }, payload)
}

/** The id of the message of a journal entry. */
export function idOf(entry: Entry, places: Places): string {
  const { time, tail } = parseHead(entry[1][1])
  return places.idAt(time, positionIn(entry), tail)
}

/**
 * The message stored in the fields of a dead letter, or of a job made from one. `v`: its position;
 * `h` and `p` as in an entry.
 */
export function storedMessage(fields: Map<string, string>, places: Places): Message | undefined {
  const head = fields.get('h')
  if (head === undefined) return undefined
  return messageOf([fields.get('v') ?? '', ['h', head, 'p', fields.get('p') ?? '']], places)
}

/**
 * Parses the head of an entry. The head of a message also has its gateway, and the digest of its
 * conversation, which is empty if there is none.
 */
export function parseHead(head: string) {
  const [time, tail, offset, conversation, ...gateway] = head.split(' ')
  const receivedAt = Number(time) + Number(offset)
  return { time: Number(time), tail: Number(tail), receivedAt, conversation, gateway: gateway.join(' ') }
}

/** The event of a topic entry. */
export function eventOf(topic: string, entry: Entry): Event {
  const [, [, head, , payload]] = entry
  const { time, tail, receivedAt } = parseHead(head)
  const stored = JSON.parse(payload) as Omit<Event, 'id' | 'topic' | 'timestamp'>
  return { ...stored, id: makeId(time, positionIn(entry), tail), topic, timestamp: receivedAt }
}

export type Appended = Accepted & {
  /** The place of a new message; absent for a duplicate. */
  place?: number
  /** The shard of the first message with the key. */
  shard?: number
}

/**
 * Appends to a log. lua/append.lua defines `head` and the items, each of which starts with the tail
 * of its id. `together`: atomically.
 */
export function append(
  run: Server['run'],
  root: string,
  idAt: Places['idAt'],
  head: Args,
  items: readonly Args[],
  together = false,
) {
  const send = async (batch: readonly Args[]): Promise<Appended[]> => {
    type Reply = [time: number, ...answers: (number | string)[]]
    const [time, ...answers] = await run<Reply>('append', root, ...head, ...batch.flat())
    return answers.map((answer, index) => {
      if (typeof answer === 'number')
        return { id: idAt(time, answer, Number(batch[index]?.[0])), duplicate: false, place: answer }
      // `shard`, or `time:position:tail` of the first message with the key.
      const [first = 0, position, tail = 0] = answer.split(':').map(Number)
      if (position === undefined) return { id: '', duplicate: true, shard: first }
      return { id: idAt(first, position, tail), duplicate: true }
    })
  }
  return together ? send(items) : inBatches(items, send)
}

/** What a note can be about. */
const NOTE_ROADS = ['dispatch', 'receive', 'outbox', 'push'] as const

/**
 * Encodes notes in short form, one per line, with the first letter of the road:
 * `[at,"d","what",detail?]`.
 */
export function encodeNotes(notes: readonly Note[]): string {
  return notes
    .map(({ at, road, what, detail }) =>
      JSON.stringify([at, road[0], what, ...(detail === undefined ? [] : [detail])]),
    )
    .join('\n')
}

export function decodeNote(line: string): Note {
  const [at, road, what, detail]: [number, string, string, Json?] = JSON.parse(line)
  return { at, road: NOTE_ROADS.find((one) => one[0] === road) ?? 'dispatch', what, ...defined({ detail }) }
}
