import type { Cursor, Undecided } from './cursor.ts'
import type { Batch } from './fetch.ts'
import type { Ingested } from './ingest.ts'

/** More are never set aside; then the cursor stops before the next one. */
export const MOST_UNDECIDED = 500

/**
 * When the mails that were set aside are tried again: after a twentieth of the patience, then in growing steps up to
 * a fifth of it, and when it is over. What it does not know, as after a reconnect, is due at once.
 */
export type Retries = {
  /** The UIDs that are due, in order. */
  due(undecided: readonly Undecided[]): number[]
  /** Ms until the next one is due; infinite where there is none. */
  pause(undecided: readonly Undecided[]): number
  /** Called after each try: for the ones that are still undecided. */
  tried(undecided: readonly Undecided[], uids: ReadonlySet<number>): void
}

export function createRetries(patience: number, now: () => number): Retries {
  let known = new Map<number, { at: number; step: number }>()
  const timeOf = ({ uid }: Undecided) => known.get(uid)?.at ?? 0
  return {
    due: (undecided) => undecided.filter((each) => timeOf(each) <= now()).map(({ uid }) => uid),
    pause: (undecided) => Math.max(0, Math.min(...undecided.map(timeOf)) - now()),
    tried(undecided, uids) {
      const next = (each: Undecided) => {
        const before = known.get(each.uid)
        if (before && !uids.has(each.uid)) return before
        const step = before ? Math.min(before.step * 2, patience / 5) : patience / 20
        const end = each.since + patience
        return { at: end > now() ? Math.min(now() + step, end) : now() + step, step }
      }
      // Only of those that still wait, so that it does not grow.
      known = new Map(undecided.map((each) => [each.uid, next(each)]))
    },
  }
}

/**
 * The cursor behind a batch: what is undecided now is noted in it, what was decided is noted no more. Where more than
 * `most` would wait, it stops before the first that is too many (`full`). `keys` are of the mails that it passed.
 */
export function passBatch(
  cursor: Cursor,
  batch: Batch,
  results: readonly Ingested[],
  { most, now }: { most: number; now: number },
): { cursor: Cursor; keys: string[]; full: boolean } {
  const outcomes = new Map(batch.incoming.map(({ uid }, at) => [uid, results[at]]))
  const waiting = cursor.undecided.filter(
    ({ uid }) => (outcomes.get(uid)?.outcome ?? 'undecided') === 'undecided',
  )
  const before = new Set(waiting.map(({ uid }) => uid))
  const fresh = [...outcomes]
    .filter(([uid, result]) => result?.outcome === 'undecided' && !before.has(uid))
    .map(([uid]) => ({ uid, since: now }))
  const room = Math.max(0, most - waiting.length)
  const end = fresh[room]?.uid ?? Number.POSITIVE_INFINITY
  const passed = batch.uids.filter((uid) => uid < end)
  return {
    cursor: {
      ...cursor,
      uid: Math.max(cursor.uid, ...passed),
      newest: Math.max(cursor.newest, batch.newest),
      undecided: [...waiting, ...fresh.slice(0, room)].toSorted((a, b) => a.uid - b.uid),
    },
    keys: passed.flatMap((uid) => outcomes.get(uid)?.key || []),
    full: fresh.length > room,
  }
}
