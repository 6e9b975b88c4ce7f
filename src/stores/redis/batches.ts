export type Args = readonly (string | number)[]

/** One call to Redis carries at most this much, so that no script holds up the others for long. */
const MAX_ITEMS = 256
const MAX_SIZE = 1_000_000

/**
 * Sends items, each the arguments of a script, in calls of bounded size, one after the other. Returns the answers in
 * the order of the items. Where a call fails, those before it stand; items are such that repeating them is harmless.
 */
export async function inBatches<Answer>(
  items: readonly Args[],
  send: (batch: readonly Args[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < items.length; ) {
    let end = start
    for (let size = 0; end < items.length && end - start < MAX_ITEMS; end++) {
      for (const arg of items[end] ?? []) size += String(arg).length
      if (size > MAX_SIZE && end > start) break
    }
    answers.push(...(await send(items.slice(start, end))))
    start = end
  }
  return answers
}
