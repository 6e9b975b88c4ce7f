import { ageText } from './age-text.ts'

const SECOND = 1_000

/** How long work took (ms), for people: `250 ms`, `4.1 s`, `16 min`. */
export function durationText(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`
  return ms < 10 * SECOND ? `${Number((ms / SECOND).toFixed(1))} s` : ageText(ms)
}
