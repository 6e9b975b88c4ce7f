import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { badRequest } from '../../core/invalid-args.ts'
import { parseJson } from '../../core/json.ts'
import { matchSchema } from '../../core/match.ts'
import type { Message } from '../../core/message.ts'
import { compileMatcher } from '../../engine/matcher.ts'
import { messageFilter } from '../../engine/operations/messages.ts'

/** The events of a stream. Readers also get `gap`, the number of omitted messages. */
export const STREAM_EVENTS = ['history', 'point', 'now', 'message', 'outcome', 'approval', 'dead'] as const

/** A reader of live events. */
export type Reader = {
  filter: z.infer<typeof messageFilter>
  /** Matches messages by the keys of `match` in routes, which need the whole message. */
  fits: ((message: Message) => boolean) | undefined
  wants(event: (typeof STREAM_EVENTS)[number]): boolean
  /** `id`: the message id, from which a reconnecting client continues. */
  send(event: (typeof STREAM_EVENTS)[number], data: unknown, id?: string): void
  /** Reports the number of omitted messages. */
  missed(count: number): void
  /** The id of the last message that a reconnecting client received. */
  after: string | undefined
}

const matchText = z
  .string()
  .transform((text) => parseJson(text) ?? null)
  .pipe(matchSchema)

const querySchema = messageFilter.extend({
  match: matchText.exactOptional(),
  only: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(STREAM_EVENTS)))
    .exactOptional(),
})

/** A comment, which clients ignore. */
const KEEP_ALIVE = ': \n\n'
/** Interval (ms) of keep-alive lines. */
const HEARTBEAT_INTERVAL = 10_000
/** How long (ms) a reader may read nothing before it is disconnected. */
const STALL_TIMEOUT = 60_000
/** Maximum bytes buffered for a slow reader. Further events are omitted. */
const MAX_BUFFERED = 256 * 1024

/**
 * Serves server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 * `read` subscribes a reader, and returns a function that unsubscribes.
 */
export function createStream(read: (reader: Reader) => () => void): RequestHandler {
  return (request, response) => {
    const { data, error } = querySchema.safeParse(request.query)
    if (!data) throw badRequest(error, request.query)
    const { only, match, ...filter } = data
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    response.write(KEEP_ALIVE)
    const unsubscribe = read({
      filter,
      fits: match && compileMatcher(match),
      wants: (event) => only?.includes(event) ?? true,
      after: request.get('last-event-id'),
      ...writerTo(request, response),
    })
    response.once('close', unsubscribe)
  }
}

/**
 * Writes events to a reader. A slow reader misses events and gets the number of missed messages;
 * one that stops reading is disconnected.
 */
function writerTo(request: Request, response: Response): Pick<Reader, 'send' | 'missed'> {
  /** Number of omitted messages that were not reported to the reader yet. */
  let gap = 0
  let drainedAt = performance.now()
  response.on('drain', () => {
    drainedAt = performance.now()
  })
  const isSlow = () => response.writableLength > MAX_BUFFERED
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) drainedAt = performance.now()
    if (performance.now() - drainedAt > STALL_TIMEOUT) request.destroy()
    else if (!isSlow()) response.write(KEEP_ALIVE)
  }, HEARTBEAT_INTERVAL)
  response.once('close', () => clearInterval(heartbeat))
  const write = (event: string, data: unknown, id?: string) => {
    const head = id === undefined ? '' : `id: ${id}\n`
    response.write(`event: ${event}\n${head}data: ${JSON.stringify(data)}\n\n`)
  }
  const sendGap = () => {
    if (gap === 0 || isSlow()) return
    write('gap', { missed: gap })
    gap = 0
  }
  return {
    send(event, data, id) {
      sendGap()
      if (!isSlow()) write(event, data, id)
      else if (event === 'message') gap++
    },
    missed(count) {
      gap += count
      sendGap()
    },
  }
}
