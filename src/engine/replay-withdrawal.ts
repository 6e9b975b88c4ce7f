import type { Store } from '../core/store.ts'

/** Maximum number of events per read. */
const PAGE = 256

/**
 * Withdraws the unread events that a replay has redelivered to a group: all of a `round`, in a
 * partition up to `last`. Those that the group had to read anyway stay. Returns the number of
 * withdrawn events. `found` is called with the ids before they are withdrawn; after a crash, again.
 */
export async function withdrawUnread(
  topics: Store['topics'],
  { topic, group, round, last }: { topic: string; group: string; round: number; last: readonly number[] },
  signal: AbortSignal,
  found?: (ids: readonly string[]) => Promise<void>,
): Promise<number> {
  let withdrawn = 0
  for (let partition = 0; partition < topics.partitions(topic); partition++) {
    const end = last[partition] ?? Number.POSITIVE_INFINITY
    let after = 0
    while (after < end) {
      signal.throwIfAborted()
      const read = { group, max: PAGE, mode: 'peek', partition, after, withRounds: true } as const
      const [batch] = await topics.read(topic, [read])
      const newest = batch?.items.at(-1)
      if (!batch || !newest) break
      const ids = batch.items.flatMap(({ id }, at) => (Math.abs(batch.rounds?.[at] ?? 0) === round ? id : []))
      const again = batch.items.flatMap(({ id }, at) => (batch.rounds?.[at] === round ? id : []))
      if (again.length > 0) await found?.(again)
      if (ids.length > 0) withdrawn += await topics.withdraw(topic, group, ids, round)
      after = topics.placeOf(topic, newest.id)?.position ?? end
    }
  }
  return withdrawn
}
