/** How long the pauses between attempts are (ms): the first, and the longest. */
export type Backoff = { first: number; longest: number }

/** The pause (ms) after so many failures in a row (1, 2, …): doubled with each, less up to half by chance, so that not all come at once. */
export function backoff(failures: number, { first, longest }: Backoff, random = Math.random): number {
  const full = Math.min(longest, first * 2 ** Math.min(30, Math.max(0, failures - 1)))
  return Math.round(full / 2 + (full / 2) * random())
}
