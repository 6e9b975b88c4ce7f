import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { createInFlight } from '../../src/lib/in-flight.ts'
import { isShallow } from '../../src/lib/shallow.ts'
import type { Peer } from './authenticate.ts'

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
export function createInbound(deps: TransportDeps, rateText: string) {
  const { gateway } = deps
  const accepting = createInFlight()

  /** Takes one frame; resolves, never rejects, once it is answered with an ack or an error frame. */
  async function receive(speaker: Speaker, raw: string, isBinary: boolean): Promise<void> {
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    if (!speaker.mayTalk())
      return refuse(speaker, raw, id, new TriviumError('rate_limited', { gateway, rate: rateText }))
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

/** What a client may say. */
type ClientFrame = { id?: string; text: string; extra: JsonObject }

/** A frame that cannot be read; `id` is what the client called it, where that much could be read. */
type BadFrame = { id?: string; error: TriviumError }

/**
 * Reads one frame of a client: `{"type":"message","id"?,"text",…}`; other fields are `extra`. Never throws.
 */
function readFrame(raw: string, isBinary: boolean): ClientFrame | BadFrame {
  if (isBinary) return bad('frames must be text with JSON, not binary')
  const frame = parse(raw)
  if (!isJsonObject(frame)) return bad('a frame must be a JSON object such as {"type":"message","text":"hi"}')
  const { type, id: givenId, text, ...extra } = frame
  const id = typeof givenId === 'number' ? String(givenId) : givenId
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_ID)) {
    return bad(`id must be text of 1 to ${MAX_ID} characters`)
  }
  if (type !== 'message') return bad('its type is not known; send "message"', id)
  if (typeof text !== 'string') return bad('text must be a string', id)
  const reserved = RESERVED.find((name) => Object.hasOwn(extra, name))
  if (reserved) return bad(`the field ${reserved} is reserved; choose another name`, id)
  if (!isShallow(extra, MAX_DEPTH)) return bad(`its fields are nested more than ${MAX_DEPTH} deep`, id)
  return { text, extra, ...defined({ id }) }
}

const MAX_ID = 200
const MAX_DEPTH = 100
/** Fields of `data` that mean something to the roads; a client must not set them. */
const RESERVED = ['format', 'respond', 'replyTarget', 'body']

function parse(raw: string): Json | undefined {
  try {
    return JSON.parse(raw)
  } catch {
    // The caller answers what a frame must be; the parser's words would quote the frame.
    return undefined
  }
}

function bad(reason: string, id?: string): BadFrame {
  return { error: new TriviumError('bad_request', { reason }), ...defined({ id }) }
}
