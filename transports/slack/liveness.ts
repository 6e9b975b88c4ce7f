import type { WebSocket } from 'ws'
import { formatDuration } from '../../src/core/units.ts'

export type Liveness = {
  /** Slack has said hello: the socket may be trusted. */
  hello(): void
  /** An event came. */
  event(): void
  stop(): void
}

/** Slack pings its clients every few seconds; this many of our intervals without one mean that it has forgotten us. */
const MISSED_PINGS = 6
const MISSED_PONGS = 3

/**
 * Calls `dead` once where a socket is no longer worth keeping: no hello in time; nothing at all heard for three pings;
 * Slack's own pings, once there were any, missing for six (a proxy may answer ours for a peer that is gone);
 * or no event for `maxSilence`. Times in ms.
 */
export function watchLiveness(options: {
  socket: WebSocket
  ping: number
  maxSilence: number
  helloWithin: number
  now(): number
  dead(why: string): void
}): Liveness {
  const { socket, ping, maxSilence, now } = options
  const startedAt = now()
  let greeted = false
  let lastHeard = now()
  let lastEvent = now()
  let lastServerPing: number | undefined

  const heard = () => {
    lastHeard = now()
  }
  socket.on('pong', heard)
  socket.on('message', heard)
  socket.on('ping', () => {
    heard()
    lastServerPing = now()
  })

  const timer = setInterval(() => {
    const why = reason()
    if (why === undefined) return void (socket.readyState === socket.OPEN && socket.ping())
    clearInterval(timer)
    options.dead(why)
  }, ping)

  function reason(): string | undefined {
    const time = now()
    if (!greeted) return time - startedAt > options.helloWithin ? 'Slack did not say hello' : undefined
    if (time - lastHeard > ping * MISSED_PONGS)
      return `the socket was silent for ${formatDuration(time - lastHeard)}`
    if (lastServerPing !== undefined && time - lastServerPing > ping * MISSED_PINGS) {
      return `Slack has not pinged for ${formatDuration(time - lastServerPing)}`
    }
    return time - lastEvent > maxSilence ? `no event came for ${formatDuration(maxSilence)}` : undefined
  }

  return {
    hello() {
      greeted = true
      heard()
    },
    event() {
      lastEvent = now()
    },
    stop: () => clearInterval(timer),
  }
}
