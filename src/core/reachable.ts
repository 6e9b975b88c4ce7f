import { TriviumError } from './errors.ts'

/** Whether a call failed because the store, or a part of it, cannot be reached or accepts no writes. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof TriviumError && error.code === 'store_unavailable'
}

/**
 * The answers of the reachable parts of a store, the places of the unreachable ones in the list
 * (`away`), and the first failure among them. Rejects if none is reachable, and with any other
 * failure.
 */
export async function askAll<Item, T>(
  parts: readonly Item[],
  ask: (part: Item, place: number) => Promise<T>,
): Promise<{ answers: T[]; away: number[]; failure: unknown }> {
  const settled = await Promise.allSettled(parts.map(ask))
  const answers: T[] = []
  const away: number[] = []
  let failure: unknown
  for (const [place, outcome] of settled.entries()) {
    if (outcome.status === 'fulfilled') answers.push(outcome.value)
    else if (isStoreAway(outcome.reason)) {
      away.push(place)
      failure ??= outcome.reason
    } else throw outcome.reason
  }
  if (answers.length === 0 && away.length > 0) throw failure
  return { answers, away, failure }
}
