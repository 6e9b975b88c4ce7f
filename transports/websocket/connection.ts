import type { WebSocket } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import { createLoop } from '../../src/lib/loop.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Peer } from './admission.ts'
import type { WebsocketOptions } from './config.ts'
import { type ClientFrame, readFrame } from './frames.ts'

export type Connection = ReturnType<typeof serveConnection>

/** An admitted client. It gets the replies after `after`; `end` is the newest. */
export type Admitted = { peer: Peer; conversation: string; after: number; end: number }

/** Maximum frames of a connection waiting for the store; beyond it, the socket is paused. */
const MAX_IN_FLIGHT = 256
/** Replies per read of the log. */
const PAGE = 64

/** Serves a client's socket until it closes. `accepting` counts messages of all connections that are being stored. */
export function serveConnection(
  socket: WebSocket,
  { peer, conversation, after, end }: Admitted,
  options: WebsocketOptions,
  accepting: ReturnType<typeof createInFlight>,
  deps: TransportDeps,
) {
  const log = deps.log.child({ conversation })
  let inFlight = 0
  let isAlive = true

  const { 'rate-limit': limit } = options
  const takeToken = createTokenBucket(limit, deps.now)
  const rate = limit === 'off' ? '' : `${limit.count} frames in ${formatDuration(limit.per)}`
  const isFull = () => socket.bufferedAmount > options['max-buffer']

  /** Resolves once the socket has room again, for back-pressure. */
  async function send(frame: JsonObject): Promise<void> {
    if (socket.readyState !== socket.OPEN) return
    // Frames lost with a broken socket are in the log, or are repeated by the client.
    const written = new Promise<void>((resolve) => socket.send(JSON.stringify(frame), () => resolve()))
    if (!isFull()) return
    const tooSlow = setTimeout(() => {
      if (socket.readyState !== socket.OPEN) return
      log.info({ buffered: socket.bufferedAmount }, 'a reader is too slow; it can resume where it is')
      close(1013, 'too slow; reconnect and resume')
    }, options['stall-timeout'])
    await written
    clearTimeout(tooSlow)
  }

  /** Back-pressure: a client that does not read its responses is not read. */
  async function receive(raw: string, isBinary: boolean) {
    isAlive = true
    inFlight++
    if (inFlight >= MAX_IN_FLIGHT) socket.pause()
    accepting.enter()
    const written = send(await take(raw, isBinary))
    accepting.leave()
    await written
    inFlight--
    if (inFlight === MAX_IN_FLIGHT / 2 && socket.readyState === socket.OPEN) socket.resume()
  }

  /** Takes a frame. Resolves with its ack or error frame; never rejects. */
  async function take(raw: string, isBinary: boolean): Promise<JsonObject> {
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    const refusal = refusalOf(frame)
    try {
      if (refusal || 'error' in frame) throw refusal
      const accepted = await deps.accept(messageOf(frame))
      const duplicate = accepted.duplicate || undefined
      return { type: 'ack', messageId: accepted.id, ...defined({ id, duplicate }) }
    } catch (thrown) {
      const error = toTriviumError(thrown)
      const { code, message, retryable } = error
      // `accept` reports its own refusals.
      if (refusal) deps.refused(code, { from: peer.subject ?? peer.address, why: message, body: raw })
      // At debug, because an unreachable store refuses thousands of frames a second, and logs that once itself.
      log[code === 'internal' ? 'error' : 'debug']({ err: error }, 'a frame was refused')
      return { type: 'error', code, message, retryable, ...defined({ id }) }
    }
  }

  function refusalOf(frame: ReturnType<typeof readFrame>): TriviumError | undefined {
    if (takeToken() > 0) return new TriviumError('rate_limited', { gateway: deps.gateway, rate })
    if ('error' in frame) return frame.error
    return accepting.isStopping() ? stoppingError() : expiryOf(peer, deps)
  }

  function messageOf({ id, text, extra }: ClientFrame): NewMessage {
    return {
      gateway: deps.gateway,
      transport: 'websocket',
      conversation,
      from: peer.subject === undefined ? { id: peer.address } : { id: peer.subject, verified: true },
      text,
      data: extra,
      // Several clients may use the same message id.
      ...(id === undefined ? {} : { key: `${conversation}:${id.toWellFormed()}` }),
    }
  }

  /**
   * Sends the replies after `position`, in order, each once. Returns whether there may be more. Reads the log; signals are only
   * hints, so late, repeated or lost ones are harmless.
   */
  async function writePage() {
    const entries = await deps.replies.read(conversation, position, PAGE)
    for (const { seq, data } of entries) {
      await tellGap(seq - 1)
      await send({ ...shown(data), type: 'message', seq })
      position = seq
    }
    // Entries missing up to the initial end of the log have expired.
    if (entries.length === 0) await tellGap(end)
    return entries.length > 0 ? 'again' : undefined
  }

  /** Reports expired replies. Retention removes the oldest first, so if an earlier one still exists, the numbers merely have a gap. */
  async function tellGap(seq: number) {
    if (seq <= position) return
    const [oldest] = await deps.replies.read(conversation, 0, 1)
    const isGone = !oldest || oldest.seq > position
    if (isGone) await send({ type: 'gap', missed: seq - position, seq })
    position = seq
  }

  function stopFollowing() {
    unsubscribe()
    void following.stop()
  }

  function close(code: number, reason: string) {
    stopFollowing()
    socket.resume()
    socket.close(code, reason)
  }

  socket.on('error', (error) => log.debug({ err: error }, 'a connection broke'))
  const ended = new Promise<void>((resolve) => socket.once('close', resolve)).then(stopFollowing)
  socket.on('pong', () => {
    isAlive = true
  })
  socket.on('message', (raw, isBinary) => void receive(String(raw), isBinary))
  void send({ type: 'welcome', conversation, seq: after })
  let position = after
  const following = createLoop({
    step: writePage,
    failed: (err) => log.warn({ err }, 'cannot read the replies; trying again'),
  })
  const unsubscribe = deps.replies.onAppend(conversation, following.wake)
  following.start()

  return {
    /** Called at every heartbeat: disconnects a peer that did not answer the last ping, and pings again. */
    beat() {
      if (socket.isPaused || isFull()) {
        // A paused socket cannot receive pongs, and pauses have their own limit.
        isAlive = true
      } else if (isAlive) {
        isAlive = false
        socket.ping()
      } else socket.terminate()
    },
    conversation,
    /** Resolves when the socket is closed. */
    ended,
    /** Sends a frame that is not in the reply log. Skipped for clients that cannot keep up. */
    show(frame: JsonObject) {
      if (!isFull()) void send(frame)
    },
    close,
  }
}

/** Removes local file paths from attachments. */
function shown({ attachments, ...said }: JsonObject): JsonObject {
  if (!Array.isArray(attachments)) return said
  return {
    ...said,
    attachments: objectsIn(attachments).map(({ path: _path, sha256: _sha256, ...file }) => file),
  }
}

/** An error if the token has expired, as the timer that closes the connection may be late. */
function expiryOf({ until }: Peer, { gateway, now }: TransportDeps): TriviumError | undefined {
  if (until === undefined || until > now()) return undefined
  return new TriviumError('signature_invalid', { gateway, reason: 'the token has expired' })
}
