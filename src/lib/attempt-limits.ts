import { durationText } from './duration-text.ts'

/**
 * How many attempts a route makes, and how long each may take: `up to 4, each up to 1 min`. `own`:
 * the `timeout` of its skill, such as `20s`, which ends an attempt if it is shorter.
 */
export function attemptLimits(route: { timeout?: unknown; retry?: unknown }, own?: unknown): string {
  const { timeout, retry } = route
  const attempts = Object(retry).attempts
  const time = timeText(typeof timeout === 'number' ? timeout : undefined, msOf(own))
  if (typeof attempts !== 'number') return time && `each ${time}`
  const number = attempts === 1 ? 'one' : `up to ${attempts}`
  return time === '' ? number : `${number}, ${attempts === 1 ? '' : 'each '}${time}`
}

function timeText(ofRoute: number | undefined, own: number | undefined): string {
  if (own !== undefined && own < (ofRoute ?? Number.POSITIVE_INFINITY))
    return `up to ${durationText(own)} (timeout of the skill)`
  return ofRoute === undefined ? '' : `up to ${durationText(ofRoute)}`
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A duration of a setting in ms. */
function msOf(duration: unknown): number | undefined {
  if (typeof duration === 'number') return duration
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/.exec(String(duration)) ?? []
  const ms = UNITS[unit]
  return ms === undefined ? undefined : Number(amount) * ms
}
