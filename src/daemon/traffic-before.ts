import type { Call } from '../core/call.ts'
import { HOUR, MINUTE } from '../core/units.ts'
import type { createGatewayHistory } from '../engine/gateway-history.ts'
import type { Traffic } from '../engine/refusal-tally.ts'

type Minutes = Pick<Traffic, 'accepted' | 'refused'>

/**
 * Makes the function that adds to the traffic of the last hour, which a daemon counts from its start,
 * what the store has of the time before. That is read once per gateway, within an hour of the start.
 */
export function createTrafficBefore(historyOf: ReturnType<typeof createGatewayHistory>) {
  const start = Date.now()
  /** By gateway: counts by minute, a number of minutes since 1970. */
  const known = new Map<string, Promise<Map<number, { accepted: number; refused: number }>>>()

  async function read(gateway: string, counted: Minutes, call: Call) {
    const first = firstMinuteOf(counted)
    const range = { since: start - HOUR, until: start, width: MINUTE }
    const { from, accepted, refused, countedTo } = await historyOf(gateway, range, call)
    if (countedTo !== undefined) return new Map()
    const minutes = accepted.map((count, at) => {
      const minute = minuteOf(from) + at
      // In the minute of the start, the store has refusals of this daemon, too.
      const earlier = (refused[at] ?? 0) - (counted.refused[minute - first] ?? 0)
      return [minute, { accepted: count, refused: Math.max(0, earlier) }] as const
    })
    return new Map(minutes)
  }

  return async (gateway: string, minutes: Minutes, call: Call): Promise<Minutes> => {
    if (Date.now() - start > HOUR) {
      known.clear()
      return minutes
    }
    const reading = known.get(gateway) ?? read(gateway, minutes, call)
    known.set(gateway, reading)
    const before = await reading.catch(() => {
      known.delete(gateway)
      return new Map<number, { accepted: number; refused: number }>()
    })
    const first = firstMinuteOf(minutes)
    const withBefore = (counts: readonly number[], which: 'accepted' | 'refused') =>
      counts.map((count, at) => count + (before.get(first + at)?.[which] ?? 0))
    return {
      accepted: withBefore(minutes.accepted, 'accepted'),
      refused: withBefore(minutes.refused, 'refused'),
    }
  }
}

function firstMinuteOf({ accepted }: Minutes): number {
  return minuteOf(Date.now()) - accepted.length + 1
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE)
}
