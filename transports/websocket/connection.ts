import type { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Peer } from './authenticate.ts'
import type { WebsocketOptions } from './config.ts'
import type { WebsocketInbound } from './inbound.ts'
import { type Follower, followReplies } from './outbound.ts'

export type Connection = ReturnType<typeof serveConnection>

/** A client that may come in: the replies after `after` are sent to it; the newest that there is is `end`. */
export type Admitted = { peer: Peer; conversation: string; after: number; end: number }

type ConnectionOptions = Admitted & {
  socket: WebSocket
  inbound: WebsocketInbound
  options: WebsocketOptions
  deps: TransportDeps
}

/** Frames of one connection that may wait for the store at once; then its socket is not read. */
const MAX_IN_FLIGHT = 256
/** How long a peer may take to answer a close frame (ms). */
const GOODBYE_TIME = 2_000

/** Serves one client's socket from its welcome to its end: welcomes, takes frames, follows the replies, and bounds what waits in either direction. */
export function serveConnection(given: ConnectionOptions) {
  const { socket, conversation, peer, after, end, options, deps } = given
  const log = deps.log.child({ conversation })
  let inFlight = 0
  let isAlive = true
  let stalled: NodeJS.Timeout | undefined
  let goodbye: NodeJS.Timeout | undefined
  let follower: Follower | undefined

  const takeToken = createTokenBucket(options['rate-limit'], deps.now)
  const speaker = { conversation, peer, send, mayTalk: () => takeToken() === 0 }

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
    void given.inbound.receive(speaker, raw, isBinary).then(() => {
      inFlight--
      if (inFlight === MAX_IN_FLIGHT / 2) resumeReading()
    })
  }

  /** Says goodbye with a close code, and cuts the line where the peer does not answer. */
  function close(code: number, reason: string) {
    follower?.stop()
    socket.resume()
    socket.close(code, reason)
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
