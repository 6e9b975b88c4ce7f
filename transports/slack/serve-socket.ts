import { WebSocket } from 'ws'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { createAcks, type Envelope, readFrame } from './frames.ts'
import type { Listening } from './listener.ts'
import type { SocketOptions } from './options.ts'

/**
 * How long (ms) a socket may take to become ready. One that lived this long, or delivered an event,
 * counts as proven.
 */
export const HANDSHAKE = 10_000
/** How long (ms) an old socket stays open for its acknowledgements. */
const DRAIN = 3000
const CLOSE = 1000
const MAX_FRAME = 16 * 1024 * 1024

/**
 * Slack pings its clients every few seconds. After this many of our intervals without a ping, the
 * connection counts as dead.
 */
const MISSED_PINGS = 6
const MISSED_PONGS = 3

/** Why a connection ended, and the wait (ms) before the next one, if failures do not determine it. */
export type Ending = { why: string; wait?: number | undefined }

/**
 * State over all connections. `failures`: number of consecutive unproven connections, including the
 * current one.
 */
export type SocketState = {
  ready: boolean
  connections: number
  lastEvent: number
  since: number
  failures: number
}

/** Serves one connection. Resolves when the socket is closed, or is given up because it does not close. */
export function serveSocket(
  url: string,
  options: SocketOptions,
  { log, now }: Pick<TransportDeps, 'log' | 'now'>,
  { take, connected }: Listening,
  state: SocketState,
  stopping: AbortSignal,
): Promise<Ending> {
  const socket = new WebSocket(url, { handshakeTimeout: HANDSHAKE, maxPayload: MAX_FRAME })
  const ack = createAcks(socket)
  const taking = new Set<Promise<void>>()
  const closed = Promise.withResolvers<Ending>()
  let ending: Ending | undefined
  let unwatch: (() => void) | undefined
  const dead = (why: string) => {
    ending ??= { why }
    socket.terminate()
  }
  const unready = () => {
    if (state.ready) state.since = now()
    state.ready = false
  }
  const leave = async (because: Ending) => {
    if (ending) return
    ending = because
    unready()
    await inTime(Promise.all(taking), AbortSignal.timeout(DRAIN))
    // Acknowledgements are sent at the end of the turn.
    await pause(0)
    socket.close(1000)
    setTimeout(() => socket.terminate(), CLOSE).unref()
  }
  const onStop = () => void leave({ why: 'stopped' })
  stopping.addEventListener('abort', onStop)
  const verdict = setTimeout(() => {
    if (unwatch) state.failures = 0
    else dead('Slack sent no hello')
  }, HANDSHAKE)

  const receive = async ({ envelope_id, type, payload, retry_attempt }: Envelope) => {
    Object.assign(state, { lastEvent: now(), failures: 0 })
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
      const taken = receive(frame.envelope).finally(() => taking.delete(taken))
      return taking.add(taken)
    }
    const { notice } = frame
    if (notice.type === 'disconnect') {
      return void leave({ why: `Slack said disconnect: ${notice.reason}`, wait: unwatch ? 0 : undefined })
    }
    unwatch ??= watchLiveness(socket, { ...options, now }, () => state.lastEvent, dead)
    Object.assign(state, { ready: true, connections: notice.num_connections })
    log.info({ connections: state.connections }, 'the Slack socket is ready')
    connected()
  })
  socket.on('error', ({ message }) => {
    ending ??= { why: message }
  })
  socket.on('close', (code) => {
    unwatch?.()
    clearTimeout(verdict)
    stopping.removeEventListener('abort', onStop)
    unready()
    closed.resolve(ending ?? { why: `Slack closed it (${code})` })
  })
  return closed.promise
}

/**
 * Watches an open socket, and calls `dead` once if it is useless: no data for three pings; no pings
 * of Slack for six intervals after there were some (a proxy may answer ours for a dead peer); or no
 * event for `maxSilence` according to `lastEvent`. Times in ms. Returns a function that stops
 * watching.
 */
function watchLiveness(
  socket: WebSocket,
  { ping, 'max-silence': most, now }: Pick<SocketOptions, 'ping' | 'max-silence'> & { now(): number },
  lastEvent: () => number,
  dead: (why: string) => void,
): () => void {
  const last = { hello: now(), sign: now(), ping: Number.POSITIVE_INFINITY }
  for (const sign of ['pong', 'message', 'ping']) {
    socket.on(sign, () => {
      last.sign = now()
      if (sign === 'ping') last.ping = now()
    })
  }
  const timer = setInterval(() => {
    const limits = [
      { at: last.sign, most: ping * MISSED_PONGS, why: 'the socket was silent for' },
      { at: last.ping, most: ping * MISSED_PINGS, why: 'Slack has not pinged for' },
      { at: Math.max(last.hello, lastEvent()), most, why: 'no event came for' },
    ]
    const broken = limits.find((limit) => now() - limit.at > limit.most)
    if (!broken) return socket.ping()
    clearInterval(timer)
    dead(`${broken.why} ${formatDuration(now() - broken.at)}`)
  }, ping)
  return () => clearInterval(timer)
}
