import type { WebSocket } from 'ws'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Peer } from './authenticate.ts'
import type { WebsocketOptions } from './config.ts'
import { type ClientFrame, readFrame } from './frames.ts'
import { type Follower, followReplies } from './outbound.ts'

export type Connection = ReturnType<typeof serveConnection>

/** A client that may come in: the replies after `after` are sent to it; the newest that there is is `end`. */
export type Admitted = { peer: Peer; conversation: string; after: number; end: number }

type ConnectionOptions = Admitted & {
  socket: WebSocket
  /** What all connections of the gateway have on its way into the store. */
  accepting: ReturnType<typeof createInFlight>
  options: WebsocketOptions
  deps: TransportDeps
}

/** Frames of one connection that may wait for the store at once; then its socket is not read. */
const MAX_IN_FLIGHT = 256
/** How long a peer may take to answer a close frame (ms). */
const GOODBYE_TIME = 2_000

/**
 * Serves one client's socket from its welcome to its end: takes frames, follows the replies, and bounds what waits in
 * either direction.
 */
export function serveConnection(given: ConnectionOptions) {
  const { socket, conversation, peer, after, end, options, accepting, deps } = given
  const log = deps.log.child({ conversation })
  let inFlight = 0
  let isAlive = true
  let stalled: NodeJS.Timeout | undefined
  let goodbye: NodeJS.Timeout | undefined
  let follower: Follower | undefined

  const { 'rate-limit': limit } = options
  const takeToken = createTokenBucket(limit, deps.now)
  const rate = limit === 'off' ? '' : `${limit.count} frames in ${formatDuration(limit.per)}`

  function send(frame: JsonObject) {
    if (socket.readyState !== socket.OPEN) return
    // What is lost here with a broken socket is in the log, or the client repeats it by its id.
    socket.send(JSON.stringify(frame), relieve)
    if (socket.bufferedAmount > options['max-buffer']) stall()
  }

  /** A reader this slow gets nothing more and is not read either: its acks would pile up just the same. */
  function stall() {
    if (stalled) return
    socket.pause()
    stalled = setTimeout(() => {
      log.info({ buffered: socket.bufferedAmount }, 'a reader is too slow; it can resume where it is')
      close(1013, 'too slow; reconnect and resume')
    }, options['stall-timeout'])
  }

  function relieve() {
    if (!stalled || socket.bufferedAmount > options['max-buffer'] / 2) return
    clearTimeout(stalled)
    stalled = undefined
    // Whatever it was silent for, it could not be heard.
    isAlive = true
    resumeReading()
    follower?.wake()
  }

  function resumeReading() {
    if (!stalled && inFlight < MAX_IN_FLIGHT && socket.readyState === socket.OPEN) socket.resume()
  }

  function receive(raw: string, isBinary: boolean) {
    isAlive = true
    inFlight++
    if (inFlight >= MAX_IN_FLIGHT) socket.pause()
    void take(raw, isBinary).then(() => {
      inFlight--
      if (inFlight === MAX_IN_FLIGHT / 2) resumeReading()
    })
  }

  /** Takes one frame; resolves, never rejects, once it is answered with an ack or an error frame. */
  async function take(raw: string, isBinary: boolean): Promise<void> {
    const frame = readFrame(raw, isBinary)
    const { id } = frame
    const refusal = refusalOf(frame)
    accepting.enter()
    try {
      if (refusal || 'error' in frame) throw refusal
      const accepted = await deps.accept(messageOf(frame))
      const duplicate = accepted.duplicate || undefined
      send({ type: 'ack', messageId: accepted.id, ...defined({ id, duplicate }) })
    } catch (thrown) {
      const error = toTriviumError(thrown)
      const { code, message, retryable } = error
      // What `accept` refuses, it tells itself.
      if (refusal) deps.refused(code, { from: peer.subject ?? peer.address, why: message, body: raw })
      // A store that is away refuses thousands of times a second; its own part says so once.
      log[code === 'internal' ? 'error' : 'debug']({ err: error }, 'a frame was refused')
      send({ type: 'error', code, message, retryable, ...defined({ id }) })
    } finally {
      accepting.leave()
    }
  }

  function refusalOf(frame: ReturnType<typeof readFrame>): TriviumError | undefined {
    if (takeToken() > 0) return new TriviumError('rate_limited', { gateway: deps.gateway, rate })
    if ('error' in frame) return frame.error
    return accepting.isStopping() ? stoppingError() : undefined
  }

  function messageOf({ id, text, extra }: ClientFrame): NewMessage {
    return {
      gateway: deps.gateway,
      transport: 'websocket',
      conversation,
      from: peer.subject === undefined ? { id: peer.address } : { id: peer.subject, verified: true },
      text,
      data: extra,
      // Two clients may both call their first message `1`.
      ...(id === undefined ? {} : { key: `${conversation}:${id.toWellFormed()}` }),
    }
  }

  function close(code: number, reason: string) {
    follower?.stop()
    socket.resume()
    socket.close(code, reason)
    // ws waits longer, and for ever where the peer ended its half before.
    goodbye ??= setTimeout(() => socket.terminate(), GOODBYE_TIME)
  }

  socket.on('error', (error) => log.debug({ err: error }, 'a connection broke'))
  const ended = new Promise<void>((resolve) => socket.once('close', resolve)).then(() => {
    clearTimeout(stalled)
    clearTimeout(goodbye)
    follower?.stop()
  })
  socket.on('pong', () => {
    isAlive = true
  })
  socket.on('message', (raw, isBinary) => receive(String(raw), isBinary))
  send({ type: 'welcome', conversation, seq: after })
  follower = followReplies({
    replies: deps.replies,
    conversation,
    after,
    end,
    mayWrite: () => !stalled && socket.readyState === socket.OPEN,
    write: send,
    failed: (err) => log.warn({ err }, 'cannot read the replies; trying again'),
  })

  return {
    /** Called at every heartbeat: cuts a peer that did not answer the last one, and asks again. */
    beat() {
      if (!isAlive) return socket.terminate()
      // A paused socket cannot hear the answer.
      if (socket.isPaused || socket.readyState !== socket.OPEN) return
      isAlive = false
      socket.ping()
    },
    conversation,
    /** Resolves when its socket is closed. */
    ended,
    /** Sends a frame that the reply log does not hold; a reader that cannot keep up does without. */
    show(frame: JsonObject) {
      if (!stalled) send(frame)
    },
    close,
  }
}
