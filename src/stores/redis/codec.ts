import type { Event, NewEvent } from '../../core/event.ts'
import type { Json } from '../../core/json.ts'
import { decodeMessage, type Message } from '../../core/message.ts'
import { makeId } from '../../core/message-id.ts'
import type { Note } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Args } from './scripts.ts'

/**
 * An entry of a log: a stream entry with the ID `<position>-0`. The head is as `lua/lib/log.lua` says:
 * `<time of the id> <tail> <offset>`, and for messages `<digest of the conversation> <gateway>` after it.
 */
export type Entry = { position: number; head: string; payload: string }

/** An entry as Redis answers with it. */
export type StoredEntry = [id: string, fields: [string, string, string, string]]

export function entryOf([id, [, head, , payload]]: StoredEntry): Entry {
  return { position: Number.parseInt(id, 10), head, payload }
}

/** The message of a journal entry. */
export function messageOf({ position, head, payload }: Entry): Message {
  const { time, tail, receivedAt, gateway } = parseHead(head)
  return decodeMessage({ id: makeId(time, position, tail), gateway, receivedAt }, payload)
}

/** The message that a dead letter, or a job made from one, carries in fields of its own. */
export function storedMessage(fields: Map<string, string>): Message | undefined {
  const head = fields.get('h')
  if (head === undefined) return undefined
  return messageOf({ position: Number(fields.get('v')), head, payload: fields.get('p') ?? '' })
}

/** What the head of an entry says; of a message its gateway and the digest of its conversation, or an empty text. */
export function parseHead(head: string) {
  const [time, tail, offset, conversation, ...gateway] = head.split(' ')
  const receivedAt = Number(time) + Number(offset)
  return { time: Number(time), tail: Number(tail), receivedAt, conversation, gateway: gateway.join(' ') }
}

/** What a topic keeps of an event beside its id and time. */
export function encodeEvent({ type, source, data, rootContextId }: NewEvent): string {
  return JSON.stringify({ type, source, data, rootContextId })
}

/** The event of a topic's entry. */
export function eventOf(topic: string, { position, head, payload }: Entry): Event {
  const { time, tail, receivedAt } = parseHead(head)
  const stored = JSON.parse(payload) as Omit<Event, 'id' | 'topic' | 'timestamp'>
  return { ...stored, id: makeId(time, position, tail), topic, timestamp: receivedAt }
}

/**
 * The ids that `append` answered for a batch: first the time of new ids, then per item
 * a position, or for a duplicate the parts of the first one's id. Each item begins with the tail that was sent.
 */
export function idsFrom([time, ...answers]: AppendReply, batch: readonly Args[]) {
  return answers.map((answer, index) => {
    if (typeof answer === 'number')
      return { id: makeId(time, answer, Number(batch[index]?.[0])), duplicate: false }
    const [first = 0, position = 0, tail] = answer.split(':').map(Number)
    return { id: makeId(first, position, tail), duplicate: true }
  })
}
export type AppendReply = [time: number, ...answers: (number | string)[]]

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
  const [at, road, what, detail]: [number, string, string, Json?] = JSON.parse(line)
  return { at, road: ROAD_OF[road] ?? 'dispatch', what, ...defined({ detail }) }
}
