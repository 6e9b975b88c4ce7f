import type { WebSocket } from 'ws'
import { formatDuration } from '../../src/core/units.ts'

/** Slack pings its clients every few seconds; this many of our intervals without one mean that it has forgotten us. */
const MISSED_PINGS = 6
const MISSED_PONGS = 3

/**
 * Watches a socket that has said hello, and calls `dead` once where it is no longer worth keeping: nothing at all heard
 * for three pings; Slack's own pings, once there were any, missing for six (a proxy may answer ours for a peer that is
 * gone); or no event for `maxSilence`. Times in ms. Returns what is called with each event, and what ends it.
 */
export function watchLiveness(
  socket: WebSocket,
  { ping, maxSilence, now }: { ping: number; maxSilence: number; now(): number },
  dead: (why: string) => void,
): { event(): void; stop(): void } {
  const last = { sign: now(), ping: Number.POSITIVE_INFINITY, event: now() }
  const limits = [
    { what: 'sign', most: ping * MISSED_PONGS, why: 'the socket was silent for' },
    { what: 'ping', most: ping * MISSED_PINGS, why: 'Slack has not pinged for' },
    { what: 'event', most: maxSilence, why: 'no event came for' },
  ] as const
  for (const sign of ['pong', 'message', 'ping']) {
    socket.on(sign, () => {
      last.sign = now()
      if (sign === 'ping') last.ping = now()
    })
  }
  const timer = setInterval(() => {
    const broken = limits.find(({ what, most }) => now() - last[what] > most)
    if (!broken) return socket.ping()
    clearInterval(timer)
    dead(`${broken.why} ${formatDuration(now() - last[broken.what])}`)
  }, ping)

  return {
    event() {
      last.event = now()
    },
    stop: () => clearInterval(timer),
  }
}
