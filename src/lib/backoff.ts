/** The first and the longest pause (ms) between attempts. */
export type Backoff = { first: number; longest: number }

/** The pause in ms after `failures` (1, 2, …) in a row: exponential, with up to 50 % jitter. */
export function backoff(failures: number, { first, longest }: Backoff, random = Math.random): number {
  const full = Math.min(longest, first * 2 ** Math.min(30, Math.max(0, failures - 1)))
  return Math.round(full / 2 + (full / 2) * random())
}
