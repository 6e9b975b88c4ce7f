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
  let isGreeted = false
  let heardAt = startedAt
  let eventAt = startedAt
  let pingedAt: number | undefined

  for (const sign of ['pong', 'message', 'ping']) {
    socket.on(sign, () => {
      heardAt = now()
      if (sign === 'ping') pingedAt = heardAt
    })
  }

  const timer = setInterval(() => {
    const why = reason(now())
    if (why === undefined) return void (socket.readyState === socket.OPEN && socket.ping())
    clearInterval(timer)
    options.dead(why)
  }, ping)

  function reason(time: number): string | undefined {
    const since = (at: number) => formatDuration(time - at)
    if (!isGreeted) return time - startedAt > options.helloWithin ? 'Slack did not say hello' : undefined
    if (time - heardAt > ping * MISSED_PONGS) return `the socket was silent for ${since(heardAt)}`
    if (pingedAt !== undefined && time - pingedAt > ping * MISSED_PINGS)
      return `Slack has not pinged for ${since(pingedAt)}`
    return time - eventAt > maxSilence ? `no event came for ${formatDuration(maxSilence)}` : undefined
  }

  return {
    hello() {
      isGreeted = true
    },
    event() {
      eventAt = now()
    },
    stop: () => clearInterval(timer),
  }
}
