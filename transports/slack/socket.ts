import type { TransportDeps } from '../../src/core/transport.ts'
import { backoff } from '../../src/lib/backoff.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { createSlackApi, slackFailure } from './api.ts'
import { lastEventText } from './last-event-text.ts'
import type { Listener, Listening } from './listener.ts'
import type { SocketOptions } from './options.ts'
import { type ConnectionEnd, HANDSHAKE_TIMEOUT_MS, serveSocket } from './serve-socket.ts'

const BACKOFF = { first: 250, longest: 30_000 }
/** After this many consecutive unproven sockets, the gateway is unhealthy until one is proven. */
const MAX_FAILURES = 3

/**
 * Slack's Socket Mode (https://docs.slack.dev/apis/events-api/using-socket-mode), without
 * @slack/socket-mode: an envelope is acknowledged on the socket that delivered it, and only when it
 * is durable; the old socket is closed before the next one is requested; and a socket that is open
 * but delivers nothing is detected.
 */
export function createSocketMode(
  options: SocketOptions,
  deps: TransportDeps,
  listening: Listening,
): Listener {
  const { log, now } = deps
  const state = {
    ready: false,
    connections: 0,
    lastEvent: now(),
    hasEvent: false,
    since: now(),
    why: '',
    failures: 0,
  }
  const stopping = new AbortController()
  const api = createSlackApi(options['app-token'], options, deps)
  let running: Promise<void> | undefined

  const run = async () => {
    while (!stopping.signal.aborted) {
      state.failures++
      const { why, wait } = await connectOnce()
      if (stopping.signal.aborted) return
      const { failures } = state
      state.why = why
      // Reconnect immediately if Slack renews a connection, but not repeatedly.
      const isRenewal = wait === 0 && failures <= 1
      const delay = isRenewal ? 0 : wait || backoff(failures, BACKOFF)
      log[failures === 0 ? 'info' : 'warn']({ why, wait: delay }, 'the Slack socket ended; connecting anew')
      await pause(delay, stopping.signal)
    }
  }

  const connectOnce = async (): Promise<ConnectionEnd> => {
    try {
      const opened = await inTime(api.apps.connections.open({}), stopping.signal)
      return await serveSocket(opened?.url ?? '', options, deps, listening, state, stopping.signal)
    } catch (error) {
      const { reason, seconds, isToken } = slackFailure(error)
      const what = isToken ? 'Slack refuses the app token' : 'apps.connections.open failed'
      return { why: `${what}: ${reason}`, wait: seconds * 1000 || undefined }
    }
  }

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
      if (ready && failures <= MAX_FAILURES) {
        const detail = `connected (${connections} of at most 10 sockets of this app), ${lastEventText(state.hasEvent, silence)}`
        return { ok: true, detail, gauges }
      }
      // Slack renews sockets every few hours; the short gap is not a failure.
      if (failures < MAX_FAILURES && now() - state.since < HANDSHAKE_TIMEOUT_MS)
        return { ok: true, detail: 'connecting', gauges }
      const count = failures < MAX_FAILURES ? '' : ` (${failures} sockets in a row)`
      return { ok: false, detail: `not connected: ${why || 'no answer from Slack'}${count}`, gauges }
    },
  }
}
