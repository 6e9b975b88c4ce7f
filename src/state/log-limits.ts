import type { JsonObject } from '../core/json.ts'
import type { Change } from './document.ts'

/**
 * How much of a document's event log a store keeps; a file is rotated by its size instead. Once in `every` events one
 * carries the whole document, so that the log can begin there; at least `kept` events stay.
 */
export type LogLimits = { every: number; kept: number }

export const LOG_LIMITS: LogLimits = { every: 1000, kept: 20_000 }

/** The changes of a commit, the last of them with the whole document where it is time for that. */
export function withWhole(
  changes: readonly Change[],
  document: JsonObject,
  { every }: LogLimits,
): { changes: Change[]; isWhole: boolean } {
  const [first, last] = [changes[0], changes.at(-1)]
  const isWhole = first !== undefined && last !== undefined && crosses(first.seq, last.seq, every)
  return { changes: isWhole ? [...changes.slice(0, -1), { ...last, document }] : [...changes], isWhole }
}

function crosses(first: number, last: number, every: number): boolean {
  return Math.floor((first - 1) / every) < Math.floor(last / every)
}
