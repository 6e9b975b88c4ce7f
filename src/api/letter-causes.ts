import type { DeadLetter, Store, StoreStats } from '../core/store.ts'
import { HOUR } from '../core/units.ts'
import { countCauses, countGroups, firstDeathOf, keyOfGroup } from '../engine/letter-groups.ts'
import type { LetterCause } from '../features/troubles/readings.ts'
import { defined } from '../lib/defined.ts'

/** Causes are counted among this many of the newest dead letters. */
const MAX_LETTERS = 1_000
const PAGE = 100
/** How long (ms) causes are kept if many letters had to be read, even if letters have changed. */
const LIFETIME = 5_000
/** Reads the causes of the newest dead letters that the numbers of a store count. */
export type ReadCauses = (stats: Pick<StoreStats, 'jobs'>) => Promise<LetterCause[]>

/**
 * The time (ms) before the newest dead letter in which a cause counts as growing. A letter that was
 * retried and failed again is not new.
 */
const GROWTH = HOUR

/**
 * Reads the causes of the newest dead letters, without those of unreachable shards. The list of
 * troubles is read often, so the letters are read again only after a change.
 */
export function createLetterCauses(
  deadLetters: Pick<Store['jobs']['deadLetters'], 'list'>,
  now: () => number,
): ReadCauses {
  let known: { signature: string; at: number; causes: LetterCause[]; isLarge: boolean } | undefined

  return async ({ jobs }) => {
    const counts = jobs.flatMap(({ queue, dead }) => (dead > 0 ? [[queue, dead]] : []))
    if (counts.length === 0) return []
    if (known?.isLarge && now() - known.at < LIFETIME) return known.causes
    const [newest] = (await deadLetters.list({ limit: 1, isPartial: true })).items
    const signature = JSON.stringify([counts, newest?.id, newest?.at])
    if (known?.signature !== signature) {
      const letters = await newestOf(deadLetters)
      known = { signature, at: now(), causes: await causesOf(letters), isLarge: letters.length > PAGE }
    }
    return known.causes
  }
}

/** The number of dead letters of test messages by queue, among those whose causes were read. */
export function testLetters(causes: readonly LetterCause[]): ReadonlyMap<string, number> {
  const tests = new Map<string, number>()
  for (const cause of causes)
    if (cause.tests) tests.set(cause.queue, (tests.get(cause.queue) ?? 0) + cause.tests)
  return tests
}

/** Adds to each road the number of its dead letters of test messages, where there are any. */
export function withTests<T extends { road: string }>(
  roads: readonly T[],
  causes: readonly LetterCause[],
): (T & { tests?: number })[] {
  const tests = testLetters(causes)
  return roads.map((road) => ({ ...road, ...defined({ tests: tests.get(road.road) }) }))
}

async function newestOf(deadLetters: Pick<Store['jobs']['deadLetters'], 'list'>): Promise<DeadLetter[]> {
  const found: DeadLetter[] = []
  for (;;) {
    const { items, more } = await deadLetters.list({ limit: PAGE, before: found.at(-1), isPartial: true })
    found.push(...items)
    if (!more || items.length === 0 || found.length >= MAX_LETTERS) return found
  }
}

async function causesOf(letters: readonly DeadLetter[]): Promise<LetterCause[]> {
  const growing = letters.filter((letter) => firstDeathOf(letter) > (letters[0]?.at ?? 0) - GROWTH)
  const recent = new Map((await countGroups(growing)).map((group) => [keyOfGroup(group), group.count]))
  return (await countCauses(letters)).map((group) => ({
    ...group,
    recent: recent.get(keyOfGroup(group)) ?? 0,
  }))
}
