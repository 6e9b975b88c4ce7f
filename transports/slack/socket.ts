import { type RawData, WebSocket } from 'ws'
import { reasonOf } from '../../src/core/errors.ts'
import type { Log } from '../../src/core/log.ts'
import type { Health } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { createAcks } from './acks.ts'
import { createAppClient } from './app-client.ts'
import { slackFailure } from './failure.ts'
import { type Envelope, readFrame } from './frames.ts'
import type { Taken } from './inbound/answers.ts'
import { watchLiveness } from './liveness.ts'

export type SocketModeOptions = {
  appToken: string
  apiUrl: string
  /** How often the peer is pinged, and how long no event may come before the socket is replaced; in ms. */
  ping: number
  maxSilence: number
  /** Resolves once the envelope is durable; rejects: it is not acknowledged. */
  take(envelope: Envelope): Promise<Taken>
  /** Called each time a socket is ready. */
  connected(): void
  /**
   * Called when a socket that was ready ended: until `since` (Unix ms) it certainly brought what there was. `announced`:
   * Slack said that it would, and keeps what is written until the next.
   */
  lost(since: number, how: 'announced' | 'broken'): void
  log: Log
  now(): number
}

export type SocketMode = {
  start(): void
  /** Ends the connection once what was taken is acknowledged. */
  stop(): Promise<void>
  health(): Health
}

const HANDSHAKE = 10_000
/** How long an old socket may live on for the acknowledgements of what came over it. */
const DRAIN = 3000
const CLOSE = 1000
const BACKOFF = { first: 250, longest: 30_000 }
/** With wrong credentials, or Slack's ten sockets in use, asking often helps nobody. */
const HOPELESS = 30_000
const MAX_FRAME = 16 * 1024 * 1024

/** A socket has proven itself once it brought an event, or lived for so long. */
const PROVEN = 10_000
/** With so many sockets in a row that ended sooner, health is red, though each of them began well. */
const FLAPPING = 3

/**
 * Why a connection ended, and how long to wait before the next (ms); without `wait`, as failures add up. `end`: it never
 * was ready, or not for long, or it was good for something.
 */
type Ending = { why: string; wait?: number; end: 'failed' | 'brief' | 'proven'; fault?: string }

/**
 * Slack's Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode), one socket at a time: the next
 * one is asked for only after the last has gone. An envelope is acknowledged over the socket it came from, and
 * only when it is durable; Slack delivers again whatever was not acknowledged.
 */
export function createSocketMode(options: SocketModeOptions): SocketMode {
  const { log, now } = options
  const state = { ready: false, connections: 0, lastEvent: now(), since: now(), fault: '', brief: 0 }
  const stopping = new AbortController()
  const { appToken, apiUrl } = options
  const web = createAppClient({ appToken, apiUrl, timeout: HANDSHAKE, log, signal: stopping.signal })
  let running: Promise<void> | undefined

  const run = async () => {
    let failures = 0
    while (!stopping.signal.aborted) {
      const ending = await connectOnce()
      if (stopping.signal.aborted) return
      const { why, end } = ending
      failures = end === 'proven' ? 0 : failures + 1
      state.brief = end === 'brief' ? state.brief + 1 : end === 'proven' ? 0 : state.brief
      state.fault = ending.fault ?? (end === 'failed' || state.brief >= FLAPPING ? why : '')
      // What Slack renews it wants back at once; but not again and again.
      const wait =
        ending.wait === 0 && failures > 1
          ? backoff(failures, BACKOFF)
          : (ending.wait ?? backoff(failures, BACKOFF))
      log[failures === 0 ? 'info' : 'warn']({ why, wait }, 'the Slack socket ended; connecting anew')
      await sleep(wait)
    }
  }

  const connectOnce = async (): Promise<Ending> => {
    let url: string
    try {
      url = (await web.apps.connections.open({})).url ?? ''
    } catch (error) {
      const failure = slackFailure(error)
      const why = `apps.connections.open failed: ${failure.reason}`
      if (failure.kind === 'rate-limited') return { why, wait: failure.seconds * 1000, end: 'failed' }
      return failure.kind === 'rejected' ? { why, wait: HOPELESS, end: 'failed' } : { why, end: 'failed' }
    }
    if (stopping.signal.aborted) return { why: 'stopped', end: 'failed' }
    try {
      return await serve(url)
    } catch (error) {
      return { why: reasonOf(error), end: 'failed' }
    }
  }

  /** `at`: until when the socket certainly brought what there was. */
  const lost: SocketModeOptions['lost'] = (at, how) => {
    if (!state.ready) return
    state.since = now()
    state.ready = false
    if (!stopping.signal.aborted) options.lost(at, how)
  }

  /** Resolves when the socket is closed, or given up where it does not close. */
  const serve = (url: string) =>
    new Promise<Ending>((resolve) => {
      const socket = new WebSocket(url, { handshakeTimeout: HANDSHAKE, maxPayload: MAX_FRAME })
      const acks = createAcks(socket)
      const underWay = createUnderWay()
      let ending: Omit<Ending, 'end'> | undefined
      let end: Ending['end'] = 'failed'
      let lastGood = now()
      let proving: NodeJS.Timeout | undefined
      const liveness = watchLiveness({
        socket,
        ping: options.ping,
        maxSilence: options.maxSilence,
        helloWithin: HANDSHAKE,
        now,
        dead: (why) => {
          ending ??= { why, fault: why }
          socket.terminate()
        },
      })

      const prove = () => {
        if (end === 'proven') return
        end = 'proven'
        state.brief = 0
        state.fault = ''
      }
      const leave = (why: string, more: Partial<Ending> = {}) => {
        if (ending) return
        ending = { why, wait: 0, ...more }
        // Slack says so over this very socket.
        lost(now(), 'announced')
        void underWay.drained(DRAIN).then(() => {
          acks.flush()
          socket.close(1000)
          setTimeout(() => socket.terminate(), CLOSE).unref()
        })
      }
      const onStop = () => leave('stopped')
      stopping.signal.addEventListener('abort', onStop)

      socket.on('error', (error) => {
        ending ??= { why: error.message, fault: error.message }
      })
      socket.on('close', (code) => {
        liveness.stop()
        clearTimeout(proving)
        stopping.signal.removeEventListener('abort', onStop)
        lost(lastGood, 'broken')
        resolve({ end, ...(ending ?? { why: `Slack closed it (${code})` }) })
      })
      // Keeps nothing of an envelope but its id: thousands may wait for the store, and what is alive is copied about.
      const receive = (envelope: Envelope) => {
        const { id, type } = envelope
        liveness.event()
        lastGood = now()
        state.lastEvent = lastGood
        prove()
        // Slack delivers again what a daemon that stops did not acknowledge.
        if (stopping.signal.aborted) return
        underWay.begin()
        options.take(envelope).then(
          (taken) => {
            acks.add(id, taken && 'response' in taken ? taken.response : undefined)
            underWay.end()
          },
          (error: unknown) => {
            // Not acknowledged, so Slack delivers it again.
            log.debug({ err: error, type }, 'an envelope was refused')
            underWay.end()
          },
        )
      }
      socket.on('message', (raw: RawData) => {
        const frame = readFrame(raw)
        if (!frame) return log.warn({}, 'a frame of Slack could not be read')
        if ('payload' in frame) return receive(frame)
        if (frame.type === 'disconnect') return disconnect(frame.reason ?? 'unknown', leave)
        if (end === 'failed') end = 'brief'
        lastGood = now()
        proving = setTimeout(prove, PROVEN)
        liveness.hello()
        state.ready = true
        state.connections = frame.num_connections ?? 1
        if (state.brief < FLAPPING) state.fault = ''
        log.info({ connections: state.connections }, 'the Slack socket is ready')
        options.connected()
      })
    })

  const sleep = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(done, ms)
      stopping.signal.addEventListener('abort', done)
      function done() {
        clearTimeout(timer)
        stopping.signal.removeEventListener('abort', done)
        resolve()
      }
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
      const silence = now() - state.lastEvent
      const gauges = { connections: state.ready ? state.connections : 0, secondsSinceEvent: silence / 1000 }
      const { connections, brief, fault } = state
      if (brief >= FLAPPING) {
        return {
          ok: false,
          detail: `not connected for long: ${brief} sockets ended at once (${fault})`,
          gauges,
        }
      }
      if (state.ready) {
        const detail = `connected (${connections} of at most 10 sockets of this app), last event ${formatDuration(silence)} ago`
        return { ok: true, detail, gauges }
      }
      // Slack renews sockets every few hours; the moment between two is no fault.
      const away = now() - state.since
      if (state.fault === '' && away < HANDSHAKE) return { ok: true, detail: 'connecting', gauges }
      return { ok: false, detail: `not connected: ${state.fault || 'no answer from Slack'}`, gauges }
    },
  }
}

function disconnect(reason: string, leave: (why: string, more?: Partial<Ending>) => void) {
  const why = `Slack said disconnect: ${reason}`
  if (reason === 'link_disabled') {
    const fault = 'Socket Mode is switched off in the settings of the app'
    return leave(why, { wait: HOPELESS, fault })
  }
  if (reason === 'too_many_websockets') {
    return leave(why, {
      wait: HOPELESS,
      fault: 'the app has all of its 10 sockets open (too_many_websockets)',
    })
  }
  leave(why)
}

/** Counts what is being taken; `drained` resolves when that is none, or after so many ms. */
function createUnderWay() {
  let count = 0
  let empty: (() => void) | undefined
  return {
    begin() {
      count++
    },
    end() {
      if (--count === 0) empty?.()
    },
    drained: (patience: number) =>
      new Promise<void>((resolve) => {
        if (count === 0) return resolve()
        const timer = setTimeout(resolve, patience)
        empty = () => {
          clearTimeout(timer)
          resolve()
        }
      }),
  }
}
