/** What was accepted, and what each reader got. */
export type Ledger = ReturnType<typeof createLedger>

/** Ids that a reader has had after it acknowledged them, or never. */
export type Misses = { reader: string; lost: string[]; twice: string[] }

/**
 * Holds what a sender was promised against what each reader had: each message at least once, and none again after its
 * acknowledgement. What a sender was not promised may come as well; it must not come twice.
 */
export function createLedger() {
  const promised = new Set<string>()
  const readers = new Map<string, { had: Set<string>; twice: string[] }>()
  const readerOf = (name: string) => {
    const known = readers.get(name) ?? { had: new Set<string>(), twice: [] }
    readers.set(name, known)
    return known
  }
  const lostTo = (name: string) => [...promised].filter((id) => !readerOf(name).had.has(id))
  return {
    promise: (id: string) => void promised.add(id),
    /** `reader` had this, and said so. */
    had(reader: string, id: string) {
      const { had, twice } = readerOf(reader)
      if (had.has(id)) twice.push(id)
      had.add(id)
    },
    /** How many a reader lacks. */
    missing: (reader: string) => lostTo(reader).length,
    /** Whether all that was promised is among these. */
    isIn(ids: Iterable<string>) {
      return promised.isSubsetOf(new Set(ids))
    },
    promised: () => promised.size,
    misses(names: readonly string[]): Misses[] {
      return names
        .map((reader) => ({ reader, lost: lostTo(reader), twice: readerOf(reader).twice }))
        .filter(({ lost, twice }) => lost.length + twice.length > 0)
    },
  }
}
