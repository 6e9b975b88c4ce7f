/**
 * The result of a read that may stop early: at the requested number, or because the items are large
 * (`LARGE_READ`).
 */
export type Page<Item> = {
  items: Item[]
  /** False if nothing was left. True: the next read continues from here, and may find nothing. */
  more: boolean
}

/** A page of the items that could be reached. */
export type ReachablePage<Item> = Page<Item> & {
  /** The shards that could not be reached; absent if all could. */
  away?: number[]
}
