/** One call to Redis carries at most this much, so that no script holds up the others for long. */
const MAX_ITEMS = 256
const MAX_SIZE = 1_000_000

/**
 * Sends items in calls of bounded size, one after the other, and returns the answers in the order of the
 * items. Where a call fails, those before it stand; items are such that repeating them is harmless.
 */
export async function inBatches<Item extends { size: number }, Answer>(
  items: readonly Item[],
  send: (batch: readonly Item[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  let start = 0
  while (start < items.length) {
    const end = endOfBatch(items, start)
    answers.push(...(await send(items.slice(start, end))))
    start = end
  }
  return answers
}

function endOfBatch(items: readonly { size: number }[], start: number): number {
  let size = 0
  let end = start
  while (end < items.length && end - start < MAX_ITEMS) {
    size += items[end]?.size ?? 0
    if (size > MAX_SIZE && end > start) break
    end++
  }
  return end
}
