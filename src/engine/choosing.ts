import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Message } from '../core/message.ts'
import { askAll } from '../core/reachable.ts'
import type { ReceiveFilter, Store, Taken } from '../core/store.ts'

/** A consumer's filter; equal filters have the same `key`. */
export type ContentFilter = { key: string; filter: ReceiveFilter; fits(message: Message): boolean }

/** What is known about a filter in one part of the store. */
type Known = {
  /** All matches that were never taken are after this position. */
  after: number
  /** Positions of messages that were given back, and do not match. */
  mismatched: Set<number>
}
type Candidate = { position: number; message: Message }

/** Maximum number of remembered filters; any other one starts at the oldest waiting message. */
const MAX_FILTERS = 1_000
/** Messages in the first read. After each read without a match, the next one is twice as large. */
const FIRST_READ = 4
/** Messages in the largest read. */
const LARGEST_READ = 128

/**
 * Takes messages from the receive road by content, oldest first; others stay for other consumers.
 * The position reached is remembered per filter, so that a rare match does not cost a scan of the
 * whole backlog in each call.
 */
export function createChoosing(store: Pick<Store, 'receive' | 'awayAt'>) {
  const { receive } = store
  const knownFilters = new Map<string, { awayAt: number; parts: Known[] }>()

  const knownOf = ({ key }: ContentFilter): Known[] => {
    const awayAt = store.awayAt()
    const found = knownFilters.get(key)
    // A store that was unreachable may have lost its last writes, and have other messages at their
    // positions.
    const isValid = found?.awayAt === awayAt
    const known = isValid ? found : { awayAt, parts: Array.from({ length: receive.parts }, nothingKnown) }
    knownFilters.delete(key)
    knownFilters.set(key, known)
    const [leastRecent] = knownFilters.keys()
    if (leastRecent !== undefined && knownFilters.size > MAX_FILTERS) knownFilters.delete(leastRecent)
    return known.parts
  }

  /** The oldest match in a part of the store. */
  async function findIn(
    wanted: ContentFilter,
    part: number,
    known: Known,
    signal: AbortSignal,
  ): Promise<Candidate | undefined> {
    const { gateway } = wanted.filter
    for (let max = FIRST_READ; !signal.aborted; max = Math.min(LARGEST_READ, max * 2)) {
      const looked = await receive.look({ part, gateway, after: known.after, max })
      const back = await findBack(wanted, part, known, looked.back)
      const fresh = await firstThatFits(looked.items, wanted)
      if (back && (!fresh || back.position < fresh.position)) return back
      if (fresh) return fresh
      known.after = Math.max(known.after, looked.to)
      if (!looked.more) return undefined
    }
    return undefined
  }

  /** The oldest match among messages that were given back. */
  async function findBack(
    wanted: ContentFilter,
    part: number,
    { mismatched }: Known,
    back: readonly number[],
  ): Promise<Candidate | undefined> {
    const stillBack = new Set(back)
    for (const position of mismatched) if (!stillBack.has(position)) mismatched.delete(position)
    let unseen = back.filter((position) => !mismatched.has(position))
    while (unseen.length > 0) {
      const { items, more } = await receive.lookAt(part, unseen.slice(0, LARGEST_READ))
      const found = await firstThatFits(items, wanted)
      for (const { position } of items) if (!found || position < found.position) mismatched.add(position)
      if (found) return found
      // The answer is cut if its messages are large. The next read then gets the rest of the slice.
      const last = more ? items.at(-1)?.position : undefined
      unseen = last === undefined ? unseen.slice(LARGEST_READ) : unseen.filter((position) => position > last)
    }
    return undefined
  }

  return async (
    wanted: ContentFilter,
    lease: number | undefined,
    by: string,
    signal: AbortSignal,
  ): Promise<Taken | undefined> => {
    const known = knownOf(wanted)
    for (;;) {
      const { answers } = await askAll(known, (one, part) => findIn(wanted, part, one, signal))
      const [oldest] = answers
        .flatMap((candidate) => candidate ?? [])
        .sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
      if (!oldest) return undefined
      // Another consumer may have been faster.
      const taken = await receive.take({ only: oldest.message.id }, lease, by)
      if (taken) return taken
    }
  }
}

function nothingKnown(): Known {
  return { after: 0, mismatched: new Set() }
}

/** Ms of matching before other work gets a turn: patterns can be slow on large texts. */
const TURN = 10

async function firstThatFits(
  messages: readonly Candidate[],
  { fits }: ContentFilter,
): Promise<Candidate | undefined> {
  let begun = performance.now()
  for (const candidate of messages) {
    if (fits(candidate.message)) return candidate
    if (performance.now() - begun < TURN) continue
    await nextTurn()
    begun = performance.now()
  }
  return undefined
}
