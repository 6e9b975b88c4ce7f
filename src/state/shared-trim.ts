import type { KeyValues } from '../core/store.ts'
import type { LogLimits } from './log-limits.ts'

/**
 * Removes the oldest events of a document on the message store, each commit of which is a list under a key of its own:
 * `prefix` and the number of its first event. `last` is the number of the newest event. Harmless
 * to repeat, to interrupt and to run twice at once: whatever is left begins with a whole document, or with the first.
 */
export async function trimSharedLog(
  kv: KeyValues,
  { prefix, last, limits }: { prefix: string; last: number; limits: LogLimits },
): Promise<void> {
  const seqOf = (key: string) => Number(key.slice(prefix.length))
  const most = last - limits.kept
  const page = await kv.list(prefix, limits.every * 3)
  const isLong = page.length === limits.every * 3 && seqOf(page.at(-1) ?? '') <= most
  // So long only where it grew before it had limits.
  const oldest = isLong ? await kv.list(prefix, Number.MAX_SAFE_INTEGER) : page
  const spare = oldest.filter((key) => seqOf(key) <= most)
  const begin = await newestWhole(kv, spare, { most, steps: limits.every * 2 })
  if (begin === undefined) return
  // Newest first: cut off in between, what is left still reads from the first event on.
  for (const key of spare.slice(0, begin).reverse()) await kv.delete(key)
}

/** Where among these keys the log can begin, at event `most` at the latest; there it is made to begin with the whole document. */
async function newestWhole(
  kv: KeyValues,
  keys: readonly string[],
  { most, steps }: { most: number; steps: number },
): Promise<number | undefined> {
  for (let at = keys.length - 1; at > Math.max(0, keys.length - 1 - steps); at -= 1) {
    const key = keys[at] ?? ''
    const changes = (await kv.get(key))?.value
    if (!Array.isArray(changes)) return undefined
    const whole = changes
      .map(Object)
      .findLastIndex(({ seq, document }) => document !== undefined && seq <= most)
    if (whole > 0) await kv.set(key, changes.slice(whole))
    if (whole >= 0) return at
  }
  return undefined
}
