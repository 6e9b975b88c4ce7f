import type { Args } from './scripts.ts'

/** Maximum items per call, so that no script blocks others for long. */
const MAX_ITEMS = 256
/** Maximum characters per call; a single larger item is allowed. */
const MAX_SIZE = 1_000_000

/**
 * Sends items (each a list of script arguments) in successive calls of bounded size. Returns the
 * results in order. If a call fails, earlier ones stay in effect; repeating items must be harmless.
 */
export async function inBatches<Answer>(
  items: readonly Args[],
  send: (batch: readonly Args[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let start = 0; start < items.length; ) {
    let end = start
    for (let size = 0; end < items.length && end - start < MAX_ITEMS; end++) {
      for (const arg of items[end] ?? []) size += typeof arg === 'string' ? arg.length : 16
      if (size > MAX_SIZE && end > start) break
    }
    answers.push(...(await send(items.slice(start, end))))
    start = end
  }
  return answers
}
