/** Accepted messages, and the messages that each reader got. */
export type Ledger = ReturnType<typeof createLedger>

/** Ids that a reader never got (`lost`), or again after it acknowledged them (`twice`). */
export type Misses = { reader: string; lost: string[]; twice: string[] }

/**
 * Compares acknowledged messages with those that each reader got: each at least once, and none
 * again after its acknowledgement. Unacknowledged messages may also arrive, but not twice.
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
    /** Notes that `reader` got and acknowledged a message. */
    had(reader: string, id: string) {
      const { had, twice } = readerOf(reader)
      if (had.has(id)) twice.push(id)
      had.add(id)
    },
    /** Number of messages that a reader has not got. */
    missing: (reader: string) => lostTo(reader).length,
    /** Whether `ids` contains all acknowledged messages. */
    isCoveredBy(ids: Iterable<string>) {
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
