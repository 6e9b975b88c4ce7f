import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { TriviumError } from '../../core/errors.ts'
import { parseJson } from '../../core/json.ts'
import { matchSchema, type RouteMatch } from '../../core/match.ts'
import type { Message } from '../../core/message.ts'
import { compileMatcher } from '../../engine/matcher.ts'
import { messageFilter } from '../../engine/operations/messages.ts'

/** The events that a stream may have; `gap` comes in any case. */
export const STREAMED = ['history', 'point', 'now', 'message', 'outcome', 'approval', 'dead'] as const

/** Who reads what happens as it happens. */
export type Reader = {
  filter: z.infer<typeof messageFilter>
  /** By the keys of a route; it reads the whole message. */
  fits: ((message: Message) => boolean) | undefined
  wants(event: (typeof STREAMED)[number]): boolean
  /** `id` of a message is where a connection that comes back goes on. */
  send(event: (typeof STREAMED)[number], data: unknown, id?: string): void
  /** So many messages are not shown. */
  missed(count: number): void
  /** The last message that it was shown, where it comes back. */
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

/** Ms: a line that says that somebody is there, and how long a reader may take none of what is written. */
const BEAT = 10_000
const STALLED = 60_000
/** Bytes that may wait for a reader; what comes then is left out. */
const LARGEST = 256 * 1024

/** Serves server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). `read` begins and returns what ends it. */
export function createStream(read: (reader: Reader) => () => void): RequestHandler {
  return (request, response) => {
    const { data, error } = querySchema.safeParse(request.query)
    if (!data) throw new TriviumError('bad_request', { reason: z.prettifyError(error) })
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

/** Writes events while the reader reads. A slow one is left out, and told how much; one that reads nothing is hung up on. */
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
