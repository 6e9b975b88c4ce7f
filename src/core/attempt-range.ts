import { isJsonObject } from './json.ts'
import type { Note } from './note.ts'

/** A range of numbers of attempts, both ends inclusive. */
export type AttemptRange = { min?: number; max?: number }

export const ATTEMPTS_EXPECTED = 'a number of attempts, such as 2, >1, >=3 or <2'

/** Parses `2`, `>1`, `>=3`, `<2` or `<=2`. Undefined for other texts. */
export function attemptRange(text: string): AttemptRange | undefined {
  const [, sign = '', digits = ''] = /^(>=?|<=?|=)?\s*(\d{1,6})$/.exec(text.trim()) ?? []
  if (digits === '') return undefined
  const count = Number(digits)
  switch (sign) {
    case '>':
      return { min: count + 1 }
    case '>=':
      return { min: count }
    case '<':
      return { max: count - 1 }
    case '<=':
      return { max: count }
    default:
      return { min: count, max: count }
  }
}

/** The numbers in both ranges; undefined, which means any, if neither is given. */
export function inBothRanges(
  one: AttemptRange | undefined,
  other: AttemptRange | undefined,
): AttemptRange | undefined {
  if (!one || !other) return one ?? other
  const max = Math.min(one.max ?? Number.POSITIVE_INFINITY, other.max ?? Number.POSITIVE_INFINITY)
  return { min: Math.max(one.min ?? 0, other.min ?? 0), ...(Number.isFinite(max) && { max }) }
}

export function isInRange(count: number, { min = 0, max = Number.POSITIVE_INFINITY }: AttemptRange): boolean {
  return count >= min && count <= max
}

/** Notes of dispatch that end an attempt that ran. */
const ENDS = new Set(['done', 'failed', 'dead'])
/** The code of an attempt that a person cancelled. */
const CANCELLED = 'run_cancelled'

/**
 * The number of attempts that have ended, without those that a person cancelled. An attempt whose
 * daemon died has no note, but the number of the next one counts it.
 */
export function attemptsIn(history: readonly Note[]): number {
  const numbers = history.flatMap(({ road, what, detail }) => {
    if (road !== 'dispatch' || !ENDS.has(what) || !isJsonObject(detail)) return []
    const { attempt, ms, code } = detail
    return typeof attempt === 'number' && typeof ms === 'number' && code !== CANCELLED ? [attempt] : []
  })
  return Math.max(numbers.length, ...numbers)
}
