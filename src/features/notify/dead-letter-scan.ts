import { z } from 'zod'
import type { DeadLetter, ReachablePage, Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'

/** Key of the cursor: the time (Unix ms) of the newest dead letter that was handled. */
const CURSOR_KEY = 'notify:dead-letters'
const cursorSchema = z.object({ at: z.number() })

/** Overlap (ms) of scans, as the clocks of daemons differ. */
const OVERLAP = MINUTE
const PAGE_SIZE = 200
/** With more than this number, the process forgets which letters it has handled. */
const MAX_REMEMBERED = 20_000

/**
 * Finds new dead letters. The cursor in the store moves when `handled` is called. Handling a letter
 * must be idempotent, because a letter may be found twice: after a crash before `handled`, or in
 * the overlap of scans if the process has forgotten it.
 */
export function createDeadLetterScan(store: Pick<Store, 'jobs' | 'kv' | 'stats'>, now: () => number) {
  const { deadLetters } = store.jobs
  const handledKeys = new Set<string>()
  /** The signature of the last scan that was handled. */
  let lastSignature = ''
  const startedAt = now()

  /** A cheap value that changes with each new letter. */
  const readSignature = async () => {
    const [stats, { items, away }] = await Promise.all([
      store.stats(),
      deadLetters.list({ limit: 1, isPartial: true }),
    ])
    const counts = stats.jobs.map(({ queue, dead }) => [queue, dead])
    const [newest] = items
    const isPartial = away !== undefined || stats.away !== undefined
    return { newest, isPartial, signature: JSON.stringify([counts, newest?.id, newest?.at]) }
  }

  /** The letters since a time (Unix ms) that are not handled yet, oldest first. */
  const lettersSince = async (start: number) => {
    const found: DeadLetter[] = []
    let before: Pick<DeadLetter, 'at' | 'id'> | undefined
    let isPartial = false
    let page: ReachablePage<DeadLetter>
    do {
      page = await deadLetters.list({ limit: PAGE_SIZE, before, isPartial: true })
      found.push(...page.items.filter((letter) => letter.at >= start && !handledKeys.has(keyOf(letter))))
      before = page.items.at(-1)
      isPartial ||= page.away !== undefined
    } while (page.more && before && before.at >= start)
    return { letters: found.reverse(), isPartial }
  }

  return {
    /** New letters, oldest first. Call `handled` after handling them. */
    async scan(): Promise<{ letters: DeadLetter[]; handled(): Promise<void> }> {
      const { newest, signature, isPartial } = await readSignature()
      if (signature === lastSignature) return { letters: [], handled: async () => {} }
      const stored = cursorSchema.safeParse((await store.kv.get(CURSOR_KEY))?.value).data
      // Letters from before the first scan are not news. A cursor in the future comes from a clock
      // that was set back.
      const isUsable = stored !== undefined && stored.at <= now() + OVERLAP
      const cursor = isUsable ? stored.at : startedAt
      const found = await lettersSince(isUsable ? cursor - OVERLAP : cursor)
      const { letters } = found
      return {
        letters,
        async handled() {
          // Otherwise letters of unreachable shards must still be found, from the same cursor.
          const isWhole = !isPartial && !found.isPartial
          const next = isWhole ? Math.max(cursor, newest?.at ?? 0) : cursor
          if (next !== stored?.at) await store.kv.set(CURSOR_KEY, { at: next })
          if (handledKeys.size > MAX_REMEMBERED) handledKeys.clear()
          for (const letter of letters) handledKeys.add(keyOf(letter))
          lastSignature = isWhole ? signature : ''
        },
      }
    },
  }
}

/** Identifies a dead letter. One that fails again after a retry counts as new. */
export function keyOf({ queue, id, at }: Pick<DeadLetter, 'queue' | 'id' | 'at'>): string {
  return `${queue} ${id} ${at}`
}
