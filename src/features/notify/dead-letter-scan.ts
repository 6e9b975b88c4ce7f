import { z } from 'zod'
import type { DeadLetter, Page, Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'

const CURSOR = 'notify:dead-letters'
const cursorSchema = z.object({ at: z.number() })

/** Letters that died so long (ms) before the newest known one are looked at again: daemons differ in their clocks. */
const OVERLAP = MINUTE
const PAGE = 200
/** Letters whose keys are remembered here. */
const REMEMBERED = 20_000

/**
 * Finds dead letters, each once in this process. The cursor is on the store and moves after `handled`: a crash between the
 * two finds the same letters again, so what is done with them has keys of its own.
 */
export function createDeadLetterScan(store: Pick<Store, 'jobs' | 'kv' | 'stats'>, now: () => number) {
  const { deadLetters } = store.jobs
  const seen = new Set<string>()
  let known = ''
  const startedAt = now()

  /** What changes with each new letter, for little. */
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
    /** New letters, oldest first. `handled` is called when nothing is left to do for them. */
    async look(): Promise<{ letters: DeadLetter[]; handled(): Promise<void> }> {
      const { newest, text } = await signature()
      if (text === known) return { letters: [], handled: async () => {} }
      const stored = cursorSchema.safeParse((await store.kv.get(CURSOR))?.value).data
      // What was dead before anybody looked is not news. A cursor ahead of the clock is from a clock that was set back.
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

/** The same letter that died again, after a retry, is another one. */
export function keyOf({ queue, id, at }: Pick<DeadLetter, 'queue' | 'id' | 'at'>): string {
  return `${queue} ${id} ${at}`
}
