import { z } from 'zod'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { isShallow } from '../../src/lib/shallow.ts'
import type { Peer } from './authenticate.ts'
import type { WebsocketOptions } from './config.ts'

/** Where a frame came from, and how to answer it. */
export type Speaker = {
  conversation: string
  peer: Peer
  send(frame: JsonObject): void
  /** Counts one frame; false: it is over the rate. */
  mayTalk(): boolean
}

export type WebsocketInbound = ReturnType<typeof createInbound>

/** The receiving half of a WebSocket gateway. `stop` refuses from now on, and resolves when all is answered. */
export function createInbound(deps: TransportDeps, { 'rate-limit': limit }: WebsocketOptions) {
  const { gateway } = deps
  const rate = limit === 'off' ? '' : `${limit.count} frames in ${formatDuration(limit.per)}`
  const accepting = createInFlight()

  /** Takes one frame; resolves, never rejects, once it is answered with an ack or an error frame. */
  async function receive(speaker: Speaker, raw: string, isBinary: boolean): Promise<void> {
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    if (!speaker.mayTalk())
      return refuse(speaker, raw, id, new TriviumError('rate_limited', { gateway, rate }))
    if ('error' in frame) return refuse(speaker, raw, id, frame.error)
    if (accepting.isStopping()) return refuse(speaker, raw, id, stoppingError())
    accepting.enter()
    try {
      const accepted = await deps.accept(messageOf(gateway, speaker, frame))
      const duplicate = accepted.duplicate || undefined
      speaker.send({ type: 'ack', messageId: accepted.id, ...defined({ id, duplicate }) })
    } catch (error) {
      answerRefusal(speaker, id, toTriviumError(error))
    } finally {
      accepting.leave()
    }
  }

  function refuse(speaker: Speaker, body: string, id: string | undefined, error: TriviumError) {
    const { subject, address } = speaker.peer
    deps.refused(error.code, { from: subject ?? address, why: error.message, body })
    answerRefusal(speaker, id, error)
  }

  /** Without telling: what `accept` refuses, it tells itself. */
  function answerRefusal(speaker: Speaker, id: string | undefined, error: TriviumError) {
    // A store that is away refuses thousands of times a second; its own part says so once.
    const level = error.code === 'internal' ? 'error' : 'debug'
    deps.log[level]({ err: error, conversation: speaker.conversation }, 'a frame was refused')
    const { code, message, retryable } = error
    speaker.send({ type: 'error', code, message, retryable, ...defined({ id }) })
  }

  return { receive, stop: accepting.stop }
}

function messageOf(gateway: string, { conversation, peer }: Speaker, frame: ClientFrame): NewMessage {
  return {
    gateway,
    transport: 'websocket',
    conversation,
    from: peer.subject === undefined ? { id: peer.address } : { id: peer.subject, verified: true },
    text: frame.text,
    data: frame.extra,
    // Two clients may both call their first message `1`.
    ...(frame.id === undefined ? {} : { key: `${conversation}:${frame.id.toWellFormed()}` }),
  }
}

const MAX_DEPTH = 100
const frameId = z.union([z.string().min(1).max(200), z.number().transform(String)], {
  error: 'expected text of 1 to 200 characters',
})
/** The name of a field in `data` that means something to the roads. */
const reserved = z.never('is reserved; choose another name').optional()
/** What a client may say; its other fields become `data`. */
const clientFrame = z.object(
  {
    type: z.literal('message', 'not known; send "message"'),
    id: frameId.optional(),
    text: z.string(),
    ...{ format: reserved, respond: reserved, replyTarget: reserved, body: reserved },
  },
  'a frame must be text with a JSON object such as {"type":"message","text":"hi"}',
)
type ClientFrame = z.output<typeof clientFrame> & { extra: JsonObject }
const TOO_DEEP = { path: [], message: `its fields are nested more than ${MAX_DEPTH} deep` }

/** Never throws. Of a frame that cannot be taken, `id` is what the client called it, where that much can be read. */
function readFrame(raw: string, isBinary: boolean): ClientFrame | { id?: string; error: TriviumError } {
  const said = isBinary ? undefined : parse(raw)
  const { type: _type, id: given, text: _text, ...extra } = isJsonObject(said) ? said : {}
  const { data, error } = clientFrame.safeParse(said)
  if (data && isShallow(extra, MAX_DEPTH)) return { ...data, extra }
  const [{ path, message } = TOO_DEEP] = error?.issues ?? []
  const reason = [...path, message].join(': ')
  return {
    ...defined({ id: frameId.safeParse(given).data }),
    error: new TriviumError('bad_request', { reason }),
  }
}

function parse(raw: string): Json | undefined {
  try {
    return JSON.parse(raw)
  } catch {
    // The caller answers what a frame must be; the parser's words would quote the frame.
    return undefined
  }
}
