import { WebSocket } from 'ws'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration, MIB } from '../../src/core/units.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { createAcks, type Envelope, readFrame } from './frames.ts'
import type { Listening } from './listener.ts'
import type { SocketOptions } from './options.ts'

/**
 * How long a socket may take to become ready. One that lived this long, or delivered an event,
 * counts as proven.
 */
export const HANDSHAKE_TIMEOUT_MS = 10_000
/** How long an old socket stays open for its acknowledgements. */
const DRAIN_TIMEOUT_MS = 3_000
/** Time that Slack has to close a socket before it is terminated. */
const CLOSE_TIMEOUT_MS = 1_000
const MAX_FRAME_BYTES = 16 * MIB

/** Close code of RFC 6455, section 7.4.1. */
const NORMAL_CLOSURE = 1000

/**
 * Slack pings its clients every few seconds. After this many of our intervals without a ping, the
 * connection counts as dead.
 */
const MAX_MISSED_PINGS = 6
/** After this many of our intervals without any data, such as a pong, it counts as dead too. */
const MAX_MISSED_PONGS = 3

/**
 * Why a connection ended, and the wait (ms) before the next one, if failures do not determine it.
 */
export type ConnectionEnd = { why: string; wait?: number | undefined }

/**
 * State over all connections. `lastEvent` (until `hasEvent`: the start), `since` (the last change of `ready`): Unix ms.
 * `failures`: number of consecutive unproven connections, including the current one.
 */
export type SocketState = {
  ready: boolean
  connections: number
  lastEvent: number
  hasEvent: boolean
  since: number
  failures: number
}

/**
 * Serves one connection until the socket is closed. A socket that does not close in time is
 * terminated. Never rejects.
 */
export function serveSocket(
  url: string,
  options: SocketOptions,
  { log, now }: Pick<TransportDeps, 'log' | 'now'>,
  { take, connected }: Listening,
  state: SocketState,
  stopping: AbortSignal,
): Promise<ConnectionEnd> {
  const socket = new WebSocket(url, { handshakeTimeout: HANDSHAKE_TIMEOUT_MS, maxPayload: MAX_FRAME_BYTES })
  const ack = createAcks(socket)
  const inProgress = new Set<Promise<void>>()
  const closed = Promise.withResolvers<ConnectionEnd>()
  let end: ConnectionEnd | undefined
  /** Set once Slack has said hello. */
  let stopWatching: (() => void) | undefined
  const terminate = (why: string) => {
    end ??= { why }
    socket.terminate()
  }
  const setNotReady = () => {
    if (state.ready) state.since = now()
    state.ready = false
  }
  const closeGracefully = async (reason: ConnectionEnd) => {
    if (end) return
    end = reason
    setNotReady()
    await inTime(Promise.all(inProgress), AbortSignal.timeout(DRAIN_TIMEOUT_MS))
    // Acknowledgements are sent at the end of the turn.
    await pause(0)
    socket.close(NORMAL_CLOSURE)
    setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref()
  }
  const onStop = () => void closeGracefully({ why: 'stopped' })
  stopping.addEventListener('abort', onStop)
  const provenTimer = setTimeout(() => {
    if (stopWatching) state.failures = 0
    else terminate('Slack sent no hello')
  }, HANDSHAKE_TIMEOUT_MS)

  const receive = async ({ envelope_id, type, payload, retry_attempt }: Envelope) => {
    Object.assign(state, { lastEvent: now(), hasEvent: true, failures: 0 })
    // Slack retries envelopes that a stopping daemon does not acknowledge.
    if (stopping.aborted) return
    try {
      ack({ envelope_id, payload: await take(payload, retry_attempt) })
    } catch (error) {
      // Not acknowledged, so that Slack retries it.
      log.debug({ err: error, type }, 'an envelope was refused')
    }
  }
  socket.on('message', (raw) => {
    const frame = readFrame(String(raw))
    if (!frame) return log.warn({}, 'a frame of Slack could not be read')
    if ('envelope' in frame) {
      const received = receive(frame.envelope).finally(() => inProgress.delete(received))
      return inProgress.add(received)
    }
    const { notice } = frame
    if (notice.type === 'disconnect') {
      const wait = stopWatching ? 0 : undefined
      return void closeGracefully({ why: `Slack said disconnect: ${notice.reason}`, wait })
    }
    stopWatching ??= watchLiveness(socket, { ...options, now }, () => state.lastEvent, terminate)
    Object.assign(state, { ready: true, connections: notice.num_connections })
    log.info({ connections: state.connections }, 'the Slack socket is ready')
    connected()
  })
  socket.on('error', ({ message }) => {
    end ??= { why: message }
  })
  socket.on('close', (code) => {
    stopWatching?.()
    clearTimeout(provenTimer)
    stopping.removeEventListener('abort', onStop)
    setNotReady()
    closed.resolve(end ?? { why: `Slack closed it (${code})` })
  })
  return closed.promise
}

/**
 * Watches an open socket, and calls `terminate` once if it is useless: no data for three pings; no
 * pings of Slack for six intervals after there were some (a proxy may answer ours for a dead peer);
 * or no event for `max-silence` according to `lastEvent`. Times in ms. Returns a function that
 * stops watching.
 */
function watchLiveness(
  socket: WebSocket,
  { ping, 'max-silence': maxSilence, now }: Pick<SocketOptions, 'ping' | 'max-silence'> & { now(): number },
  lastEvent: () => number,
  terminate: (why: string) => void,
): () => void {
  const last = { hello: now(), data: now(), ping: Number.POSITIVE_INFINITY }
  for (const event of ['pong', 'message', 'ping']) {
    socket.on(event, () => {
      last.data = now()
      if (event === 'ping') last.ping = now()
    })
  }
  const timer = setInterval(() => {
    const limits = [
      { at: last.data, max: ping * MAX_MISSED_PONGS, why: 'the socket was silent for' },
      { at: last.ping, max: ping * MAX_MISSED_PINGS, why: 'Slack has not pinged for' },
      { at: Math.max(last.hello, lastEvent()), max: maxSilence, why: 'no event came for' },
    ]
    const exceeded = limits.find(({ at, max }) => now() - at > max)
    if (!exceeded) return socket.ping()
    clearInterval(timer)
    terminate(`${exceeded.why} ${formatDuration(now() - exceeded.at)}`)
  }, ping)
  return () => clearInterval(timer)
}
