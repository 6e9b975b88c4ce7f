import { durationText } from './duration-text.ts'

/** How long a route lets an attempt run, and how many it makes: `up to 1 min, 4 attempts`. */
export function attemptLimits(route: { timeout?: unknown; retry?: unknown }): string {
  const { timeout, retry } = route
  const attempts = Object(retry).attempts
  return [
    typeof timeout === 'number' ? `up to ${durationText(timeout)}` : '',
    typeof attempts === 'number' ? `${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}` : '',
  ]
    .filter(Boolean)
    .join(', ')
}
