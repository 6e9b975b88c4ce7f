import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { badRequest } from '../../core/invalid-args.ts'
import { parseJson } from '../../core/json.ts'
import { matchSchema, type RouteMatch } from '../../core/match.ts'
import type { Message } from '../../core/message.ts'
import { compileMatcher } from '../../engine/matcher.ts'
import { messageFilter } from '../../engine/operations/messages.ts'

/** The events of a stream. `gap` is always included. */
export const STREAMED = ['history', 'point', 'now', 'message', 'outcome', 'approval', 'dead'] as const

/** A reader of live events. */
export type Reader = {
  filter: z.infer<typeof messageFilter>
  /** Matches messages by route keys; it reads the whole message. */
  fits: ((message: Message) => boolean) | undefined
  wants(event: (typeof STREAMED)[number]): boolean
  /** `id`: the message id, from which a reconnecting client continues. */
  send(event: (typeof STREAMED)[number], data: unknown, id?: string): void
  /** Reports the number of omitted messages. */
  missed(count: number): void
  /** The last message a reconnecting client has seen. */
  after: string | undefined
}

const matchText = z
  .string()
  .transform((text) => parseJson(text) ?? null)
  .pipe(matchSchema)
  .transform((match): RouteMatch => match)

const querySchema = messageFilter.extend({
  match: matchText.exactOptional(),
  only: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(STREAMED)))
    .exactOptional(),
})

/** Interval (ms) of keep-alive lines, and how long a reader may read nothing. */
const BEAT = 10_000
const STALLED = 60_000
/** Maximum bytes buffered for a slow reader; further events are omitted. */
const LARGEST = 256 * 1024

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
    response.write(': \n\n')
    const end = read({
      filter,
      fits: match && compileMatcher(match),
      wants: (event) => only?.includes(event) ?? true,
      after: request.get('last-event-id'),
      ...writerTo(request, response),
    })
    response.once('close', end)
  }
}

/**
 * Writes events to a reader. A slow reader misses events and gets their number; one that stops
 * reading is disconnected.
 */
function writerTo(request: Request, response: Response): Pick<Reader, 'send' | 'missed'> {
  let gap = 0
  let drainedAt = performance.now()
  response.on('drain', () => {
    drainedAt = performance.now()
  })
  const isSlow = () => response.writableLength > LARGEST
  const beat = setInterval(() => {
    if (!response.writableNeedDrain) drainedAt = performance.now()
    if (performance.now() - drainedAt > STALLED) request.destroy()
    else if (!isSlow()) response.write(': \n\n')
  }, BEAT)
  response.once('close', () => clearInterval(beat))
  const write = (event: string, data: unknown, id?: string) => {
    const head = id === undefined ? '' : `id: ${id}\n`
    response.write(`event: ${event}\n${head}data: ${JSON.stringify(data)}\n\n`)
  }
  const tellGap = () => {
    if (gap === 0 || isSlow()) return
    write('gap', { missed: gap })
    gap = 0
  }
  return {
    send(event, data, id) {
      tellGap()
      if (!isSlow()) write(event, data, id)
      else if (event === 'message') gap++
    },
    missed(count) {
      gap += count
      tellGap()
    },
  }
}
