import type { KeyValues } from './store.ts'

/** Number of keys per read. */
const PAGE = 1_000

/** All keys with a prefix, sorted by bytes. For data whose number of keys is limited elsewhere, because all are in memory at once. */
export async function allKeys({ list }: Pick<KeyValues, 'list'>, prefix: string): Promise<string[]> {
  const keys: string[] = []
  for (;;) {
    const { items, more } = await list(prefix, PAGE, keys.at(-1))
    keys.push(...items)
    if (!more) return keys
  }
}
