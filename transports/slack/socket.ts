import { WebSocket } from 'ws'
import type { JsonObject } from '../../src/core/json.ts'
import type { Health, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { createSlackApi, slackFailure } from './api.ts'
import { createAcks, type Envelope, readFrame } from './frames.ts'
import type { SocketOptions } from './options.ts'

/** What brings payloads in: a socket, or a path on the public listener. */
export type Listener = {
  start(): void
  /** Ends once what was taken is acknowledged. */
  stop(): Promise<void>
  health(): Required<Omit<Health, 'warning'>>
}

/** Who is told of what comes in. */
export type Listening = {
  /** Resolves once the payload is durable, with what its acknowledgement says; rejects: it is not acknowledged. */
  take(payload: JsonObject, retry?: number): Promise<object | undefined>
  /** Called each time that what is written begins to come. */
  connected(): void
}

/** So long a socket has to become ready; one that lived for so long, or brought an event, has proven itself. */
const HANDSHAKE = 10_000
/** How long an old socket may live on for the acknowledgements of what came over it. */
const DRAIN = 3000
const CLOSE = 1000
const BACKOFF = { first: 250, longest: 30_000 }
const MAX_FRAME = 16 * 1024 * 1024
/** After so many sockets in a row that did not prove themselves, health is red until one has. */
const FLAPPING = 3

/** Slack pings its clients every few seconds; this many of our intervals without one mean that it has forgotten us. */
const MISSED_PINGS = 6
const MISSED_PONGS = 3

/** Why a connection ended, and the wait before the next (ms) where failures do not say. */
type Ending = { why: string; wait?: number | undefined }

/**
 * Slack's Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode). Neither @slack/bolt nor
 * @slack/socket-mode: an envelope is acknowledged over the socket it came from, and only when it is durable; the old
 * socket has to be gone before the next is asked for; and one that is open but deaf has to be found.
 */
export function createSocketMode(
  options: SocketOptions,
  deps: TransportDeps,
  { take, connected }: Listening,
): Listener {
  const { log, now } = deps
  /** `failures`: how many sockets in a row did not prove themselves, the present one with them. */
  const state = { ready: false, connections: 0, lastEvent: now(), since: now(), why: '', failures: 0 }
  const stopping = new AbortController()
  const api = createSlackApi(options.appToken, options, deps)
  let running: Promise<void> | undefined

  const run = async () => {
    while (!stopping.signal.aborted) {
      state.failures++
      const { why, wait } = await connectOnce()
      if (stopping.signal.aborted) return
      const { failures } = state
      state.why = why
      // What Slack renews it wants back at once; but not again and again.
      const rest = wait === 0 && failures <= 1 ? 0 : wait || backoff(failures, BACKOFF)
      log[failures === 0 ? 'info' : 'warn']({ why, wait: rest }, 'the Slack socket ended; connecting anew')
      await pause(rest, stopping.signal)
    }
  }

  const connectOnce = async (): Promise<Ending> => {
    try {
      const opened = await inTime(api.apps.connections.open({}), stopping.signal)
      return await serve(opened?.url ?? '')
    } catch (error) {
      const { reason, seconds } = slackFailure(error)
      return { why: `apps.connections.open failed: ${reason}`, wait: seconds * 1000 || undefined }
    }
  }

  /** Resolves when the socket is closed, or given up where it does not close. */
  const serve = (url: string) =>
    new Promise<Ending>((resolve) => {
      const socket = new WebSocket(url, { handshakeTimeout: HANDSHAKE, maxPayload: MAX_FRAME })
      const ack = createAcks(socket)
      const taking = new Set<Promise<void>>()
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
        // The last acknowledgements go at the end of the turn.
        await pause(0)
        socket.close(1000)
        setTimeout(() => socket.terminate(), CLOSE).unref()
      }
      const onStop = () => void leave({ why: 'stopped' })
      stopping.signal.addEventListener('abort', onStop)
      const verdict = setTimeout(() => {
        if (unwatch) state.failures = 0
        else dead('Slack did not say hello')
      }, HANDSHAKE)

      const receive = async ({ envelope_id, type, payload, retry_attempt }: Envelope) => {
        Object.assign(state, { lastEvent: now(), failures: 0 })
        // Slack delivers again what a daemon that stops did not acknowledge.
        if (stopping.signal.aborted) return
        try {
          ack({ envelope_id, payload: await take(payload, retry_attempt) })
        } catch (error) {
          // Not acknowledged, so Slack delivers it again.
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
        state.ready = true
        state.connections = notice.num_connections
        log.info({ connections: state.connections }, 'the Slack socket is ready')
        connected()
      })
      socket.on('error', ({ message }) => {
        ending ??= { why: message }
      })
      socket.on('close', (code) => {
        unwatch?.()
        clearTimeout(verdict)
        stopping.signal.removeEventListener('abort', onStop)
        unready()
        resolve(ending ?? { why: `Slack closed it (${code})` })
      })
    })

  return {
    start() {
      running ??= run()
    },
    async stop() {
      stopping.abort()
      await running
    },
    health() {
      const { ready, connections, failures, why } = state
      const silence = now() - state.lastEvent
      const gauges = { connections: ready ? connections : 0, secondsSinceEvent: silence / 1000 }
      if (ready && failures <= FLAPPING) {
        const detail = `connected (${connections} of at most 10 sockets of this app), last event ${formatDuration(silence)} ago`
        return { ok: true, detail, gauges }
      }
      // Slack renews sockets every few hours; the moment between two is no fault.
      if (failures < FLAPPING && now() - state.since < HANDSHAKE)
        return { ok: true, detail: 'connecting', gauges }
      const often = failures < FLAPPING ? '' : ` (${failures} sockets in a row)`
      return { ok: false, detail: `not connected: ${why || 'no answer from Slack'}${often}`, gauges }
    },
  }
}

/**
 * Watches a socket that has said hello, and calls `dead` once where it is no longer worth keeping: nothing at all heard
 * for three pings; Slack's own pings, once there were any, missing for six (a proxy may answer ours for a peer that is
 * gone); or no event for `maxSilence`, as `lastEvent` tells. Times in ms. Returns what ends it.
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
