/** An item of a bag. The bag sets `at`, the place of the item. */
export type InBag = { at: number }

export type Bag<Item extends InBag> = ReturnType<typeof createBag<Item>>

/**
 * A set of objects that come and go thousands of times a second. A long-lived Set or Map would
 * rebuild its table in V8's old space again and again, and a Map would enter each key into V8's
 * table of unique texts.
 */
export function createBag<Item extends InBag>() {
  const list: Item[] = []
  return {
    size: () => list.length,
    /** In no particular order, valid until the next change. */
    items: (): readonly Item[] => list,
    add(item: Item): void {
      item.at = list.length
      list.push(item)
    },
    /** Removes an item that is in the bag. */
    remove({ at }: Item): void {
      const last = list.pop()
      if (last === undefined || last.at === at) return
      list[at] = last
      last.at = at
    },
  }
}
