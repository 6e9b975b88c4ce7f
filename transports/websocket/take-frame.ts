import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Log } from '../../src/core/log.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Peer } from './admission.ts'
import type { WebsocketOptions } from './config.ts'
import { type ClientFrame, pongFor, readFrame } from './frames.ts'

type Sender = { peer: Peer; conversation: string }

/**
 * Makes the function that processes a client's frames. It resolves with the ack, pong or error
 * frame, and never rejects.
 */
export function createFrameTaker(
  { peer, conversation }: Sender,
  { 'rate-limit': limit }: Pick<WebsocketOptions, 'rate-limit'>,
  isStopping: () => boolean,
  deps: TransportDeps,
  log: Log,
) {
  const { gateway } = deps
  const takeToken = createTokenBucket(limit, deps.now)
  const rate = limit === 'off' ? '' : `${limit.count} frames in ${formatDuration(limit.per)}`

  const refusalOf = (frame: ReturnType<typeof readFrame>): TriviumError | undefined => {
    if (takeToken() > 0) return new TriviumError('rate_limited', { gateway, rate })
    if ('error' in frame) return frame.error
    return isStopping() ? stoppingError() : expiryOf(peer, deps)
  }

  return async (raw: string, isBinary: boolean): Promise<JsonObject> => {
    const pong = pongFor(raw, isBinary)
    if (pong) return pong
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    const refusal = refusalOf(frame)
    try {
      if (refusal || 'error' in frame) throw refusal
      const accepted = await deps.accept(messageOf(frame, { peer, conversation }, gateway))
      const duplicate = accepted.duplicate || undefined
      return { type: 'ack', messageId: accepted.id, ...defined({ id, duplicate }) }
    } catch (thrown) {
      const error = toTriviumError(thrown)
      const { code, message, retryable } = error
      // `accept` reports its own refusals.
      if (refusal) deps.refused(code, { from: peer.subject ?? peer.address, why: message, body: raw })
      // Only at debug: without a store, thousands of frames a second are refused. The store logs
      // its failure once.
      log[code === 'internal' ? 'error' : 'debug']({ err: error }, 'a frame was refused')
      return { type: 'error', code, message, retryable, ...defined({ id }) }
    }
  }
}

function messageOf(
  { id, text, extra }: ClientFrame,
  { peer: { subject, address }, conversation }: Sender,
  gateway: string,
): NewMessage {
  return {
    gateway,
    transport: 'websocket',
    conversation,
    from: subject === undefined ? { id: address } : { id: subject, verified: true },
    text,
    data: extra,
    // Several clients may use the same message id.
    ...(id === undefined ? {} : { key: `${conversation}:${id.toWellFormed()}` }),
  }
}

/** An error if the token has expired. The timer that closes the connection may be late. */
function expiryOf({ expiresAt }: Peer, { gateway, now }: TransportDeps): TriviumError | undefined {
  if (expiresAt === undefined || expiresAt > now()) return undefined
  return new TriviumError('signature_invalid', { gateway, reason: 'the token has expired' })
}
