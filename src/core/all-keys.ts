import type { KeyValues } from './store.ts'

/** Number of keys per read. */
const PAGE = 1_000

/**
 * All keys with a prefix, sorted by bytes. They are all held in memory, so use it only where their
 * number is limited elsewhere.
 */
export async function allKeys({ list }: Pick<KeyValues, 'list'>, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for (;;) {
    const { items, more } = await list(prefix, PAGE, keys.at(-1))
    keys.push(...items)
    if (!more) return keys
  }
}
