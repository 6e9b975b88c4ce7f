import { z } from 'zod'
import type { DeadLetter, Page, Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'

const CURSOR = 'notify:dead-letters'
const cursorSchema = z.object({ at: z.number() })

/** Overlap (ms) of scans, as the clocks of daemons differ. */
const OVERLAP = MINUTE
const PAGE = 200
/** Maximum number of remembered letters. */
const REMEMBERED = 20_000

/**
 * Finds dead letters, each once per process. The cursor is in the store and moves after `handled`.
 * After a crash in between, letters are found again, so their handling needs keys of its own.
 */
export function createDeadLetterScan(store: Pick<Store, 'jobs' | 'kv' | 'stats'>, now: () => number) {
  const { deadLetters } = store.jobs
  const seen = new Set<string>()
  let known = ''
  const startedAt = now()

  /** A cheap value that changes with each new letter. */
  const signature = async () => {
    const [stats, newest] = await Promise.all([
      store.stats(),
      deadLetters.list({ limit: 1 }).then(({ items }) => items[0]),
    ])
    const counts = stats.jobs.map(({ queue, dead }) => [queue, dead])
    return { newest, text: JSON.stringify([counts, newest?.id, newest?.at]) }
  }

  const since = async (after: number): Promise<DeadLetter[]> => {
    const found: DeadLetter[] = []
    let before: Pick<DeadLetter, 'at' | 'id'> | undefined
    let page: Page<DeadLetter>
    do {
      page = await deadLetters.list({ limit: PAGE, before })
      found.push(...page.items.filter((letter) => letter.at >= after && !seen.has(keyOf(letter))))
      before = page.items.at(-1)
    } while (page.more && before && before.at >= after)
    return found.reverse()
  }

  return {
    /** New letters, oldest first. Call `handled` after handling them. */
    async look(): Promise<{ letters: DeadLetter[]; handled(): Promise<void> }> {
      const { newest, text } = await signature()
      if (text === known) return { letters: [], handled: async () => {} }
      const stored = cursorSchema.safeParse((await store.kv.get(CURSOR))?.value).data
      // Letters from before the first scan are not news. A cursor in the future comes from a clock
      // that was set back.
      const isUsable = stored !== undefined && stored.at <= now() + OVERLAP
      const at = isUsable ? stored.at : startedAt
      const letters = await since(isUsable ? at - OVERLAP : at)
      return {
        letters,
        async handled() {
          const last = Math.max(at, newest?.at ?? 0)
          if (last !== stored?.at) await store.kv.set(CURSOR, { at: last })
          if (seen.size > REMEMBERED) seen.clear()
          for (const letter of letters) seen.add(keyOf(letter))
          known = text
        },
      }
    },
  }
}

/** A letter that dies again after a retry counts as new. */
export function keyOf({ queue, id, at }: Pick<DeadLetter, 'queue' | 'id' | 'at'>): string {
  return `${queue} ${id} ${at}`
}
