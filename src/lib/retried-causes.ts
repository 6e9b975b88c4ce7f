import { defined } from './defined.ts'
import { patternOf, sharedParts, VARYING } from './error-pattern.ts'

type Retried = { readonly error?: unknown; readonly nextAt?: unknown }

/** `error`: of the messages, with `…` for ids and numbers that differ. `nextAt`: when the first of them is tried again (Unix ms). */
export type RetriedCause = { count: number; error: string; nextAt?: number }

/** The errors of messages that are tried again, most frequent first. */
export function retriedCauses(messages: readonly Retried[]): RetriedCause[] {
  const failed = messages.flatMap(({ error, nextAt }) =>
    typeof error === 'string' ? [{ error, nextAt }] : [],
  )
  return [...Map.groupBy(failed, ({ error }) => patternOf(error)).values()]
    .map((same) => {
      const times = same.flatMap(({ nextAt }) => (typeof nextAt === 'number' ? [nextAt] : []))
      const nextAt = times.length > 0 ? Math.min(...times) : undefined
      return {
        count: same.length,
        error: commonError(same.map(({ error }) => error)),
        ...defined({ nextAt }),
      }
    })
    .sort((a, b) => b.count - a.count)
}

/** An error of several messages, such as `no stock for order …`. */
function commonError([first = '', ...others]: readonly string[]): string {
  return others
    .map((error) => error.split(VARYING))
    .reduce(sharedParts, first.split(VARYING))
    .join('')
}

/** Rows in the order of their next attempts. Those without one, which run now, are first. */
export function soonestFirst<T extends { attempt?: { nextAt?: number } | undefined }>(
  rows: readonly T[],
): T[] {
  const nextOf = ({ attempt }: T) => attempt?.nextAt ?? 0
  return rows.toSorted((a, b) => nextOf(a) - nextOf(b))
}
