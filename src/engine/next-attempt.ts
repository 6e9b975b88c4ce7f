import type { Route } from '../core/route.ts'
import { type Backoff, backoff } from '../lib/backoff.ts'

/**
 * The next attempt on a message: its number, and how many the route allows. `pause`: the shortest
 * and the longest time (ms) until the one after it, if it fails too; absent for the last one.
 */
export type NextAttempt = { number: number; of: number; pause?: { least: number; most: number } }

/** The attempt after `failed` ones on a route. */
export function nextAttempt({ retry }: Pick<Route, 'retry'>, failed: number): NextAttempt {
  const number = failed + 1
  if (number >= retry.attempts) return { number, of: retry.attempts }
  const [least, most] = [0, 1].map((share) => backoff(number, backoffOf(retry), () => share))
  return { number, of: retry.attempts, pause: { least: least ?? 0, most: most ?? 0 } }
}

/** The pauses between the attempts of a route. */
export function backoffOf({ backoff: kind, delay, maxDelay }: Route['retry']): Backoff {
  return { first: delay, longest: kind === 'fixed' ? delay : maxDelay }
}
