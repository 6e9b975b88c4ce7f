import type { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import type { Peer } from './admission.ts'
import type { WebsocketOptions } from './config.ts'
import { followReplies } from './follow-replies.ts'
import { createSocketWriter } from './socket-writer.ts'
import { createFrameTaker } from './take-frame.ts'

export type Connection = ReturnType<typeof serveConnection>

/**
 * An admitted client. It gets the replies after number `after`. `end`: number of the newest one.
 */
export type Admitted = { peer: Peer; conversation: string; after: number; end: number }

/** The close code of RFC 6455 for a client that may reconnect later ("try again later"). */
export const TRY_AGAIN_LATER = 1013

/**
 * Maximum number of frames of a connection that wait for the store; at this number the socket is
 * paused.
 */
const MAX_IN_FLIGHT = 256

/**
 * Serves a client's socket until it closes. `accepting` counts messages of all connections that are
 * being stored.
 */
export function serveConnection(
  socket: WebSocket,
  admitted: Admitted,
  options: WebsocketOptions,
  accepting: ReturnType<typeof createInFlight>,
  deps: TransportDeps,
) {
  const { conversation, after } = admitted
  const log = deps.log.child({ conversation })
  const { send, isFull } = createSocketWriter(socket, options, () => {
    log.info({ buffered: socket.bufferedAmount }, 'a client is too slow and was disconnected; it can resume')
    close(TRY_AGAIN_LATER, 'too slow; reconnect and resume')
  })
  const takeFrame = createFrameTaker(admitted, options, accepting.isStopping, deps, log)
  let inFlight = 0
  let isAlive = true

  /** Back-pressure: a client that does not read its responses is not read. */
  const receive = async (raw: string, isBinary: boolean) => {
    isAlive = true
    inFlight++
    if (inFlight >= MAX_IN_FLIGHT) socket.pause()
    accepting.enter()
    const written = send(await takeFrame(raw, isBinary))
    accepting.leave()
    await written
    inFlight--
    if (inFlight === MAX_IN_FLIGHT / 2 && socket.readyState === socket.OPEN) socket.resume()
  }

  const close = (code: number, reason: string) => {
    stopFollowing()
    socket.resume()
    socket.close(code, reason)
  }

  socket.on('error', (error) => log.debug({ err: error }, 'a connection broke'))
  const closed = new Promise<void>((resolve) => socket.once('close', resolve))
  socket.on('pong', () => {
    isAlive = true
  })
  socket.on('message', (raw, isBinary) => void receive(String(raw), isBinary))
  void send({ type: 'welcome', conversation, seq: after })
  const stopFollowing = followReplies(admitted, send, deps.replies, log)

  return {
    /**
     * Called at every heartbeat: pings the client, or disconnects it if it did not answer the last
     * ping.
     */
    checkAlive() {
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
    closed: closed.then(stopFollowing),
    /** Sends a frame that is not in the reply log. Skipped for clients that cannot keep up. */
    show(frame: JsonObject) {
      if (!isFull()) void send(frame)
    },
    close,
  }
}
