import { setImmediate as nextTurn } from 'node:timers/promises'
import { TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { ReceiveFilter, Store, Taken } from '../core/store.ts'

/** Which messages a taker wants; `key` is the same for the same wish. */
export type Wish = { key: string; filter: ReceiveFilter; fits(message: Message): boolean }

/** What is known of a wish in one part of the store. */
type Known = {
  /** No message that was never taken fits, up to this position. */
  after: number
  /** Positions of messages that came back and do not fit. */
  refused: Set<number>
}
type Candidate = { position: number; message: Message }

/** Wishes that are remembered; another begins at the start of what waits. */
const MOST = 1_000
/** Messages of the first look, and of the largest: one that finds nothing is followed by one twice as long. */
const [FIRST, LARGEST] = [4, 128]

/**
 * Takes messages from the receive road by what is in them, the oldest first; what does not fit stays for others. How far it has
 * looked is remembered for each wish, so that a rare message does not cost a look at the whole backlog at each call.
 */
export function createChoosing(store: Pick<Store, 'receive' | 'awayAt'>) {
  const { receive } = store
  const wishes = new Map<string, { awayAt: number; parts: Known[] }>()

  const knownOf = ({ key }: Wish): Known[] => {
    const awayAt = store.awayAt()
    const found = wishes.get(key)
    // A store that was away may be back without its last writes, with other messages at their positions.
    const fresh = () =>
      Array.from({ length: receive.parts }, () => ({ after: 0, refused: new Set<number>() }))
    const known = found?.awayAt === awayAt ? found : { awayAt, parts: fresh() }
    wishes.delete(key)
    wishes.set(key, known)
    for (const oldest of wishes.keys()) if (wishes.size > MOST) wishes.delete(oldest)
    return known.parts
  }

  /** The oldest in a part of the store that fits. */
  async function findIn(
    wish: Wish,
    part: number,
    known: Known,
    signal: AbortSignal,
  ): Promise<Candidate | undefined> {
    const { gateway } = wish.filter
    for (let max = FIRST; !signal.aborted; max = Math.min(LARGEST, max * 2)) {
      const looked = await receive.look({ part, gateway, after: known.after, max })
      const back = await findBack(wish, part, known, looked.back)
      const fresh = await firstThatFits(looked.messages, wish)
      if (back && (!fresh || back.position < fresh.position)) return back
      if (fresh) return fresh
      known.after = Math.max(known.after, looked.to)
      if (looked.isAll) return undefined
    }
    return undefined
  }

  /** The oldest of those that came back that fits. */
  async function findBack(
    wish: Wish,
    part: number,
    { refused }: Known,
    back: readonly number[],
  ): Promise<Candidate | undefined> {
    const there = new Set(back)
    for (const position of refused) if (!there.has(position)) refused.delete(position)
    let open = back.filter((position) => !refused.has(position))
    while (open.length > 0) {
      const some = await receive.lookAt(part, open.slice(0, LARGEST))
      const found = await firstThatFits(some, wish)
      for (const { position } of some) if (!found || position < found.position) refused.add(position)
      if (found) return found
      const last = some.at(-1)?.position ?? open[LARGEST - 1] ?? Number.POSITIVE_INFINITY
      open = open.filter((position) => position > last)
    }
    return undefined
  }

  return async (
    wish: Wish,
    lease: number | undefined,
    by: string,
    signal: AbortSignal,
  ): Promise<Taken | undefined> => {
    const known = knownOf(wish)
    for (;;) {
      const looks = known.map((one, part) => findIn(wish, part, one, signal))
      const [oldest] = (await answersOf(looks))
        .flatMap((candidate) => candidate ?? [])
        .sort((a, b) => (a.message.id < b.message.id ? -1 : 1))
      if (!oldest) return undefined
      // Another may have been faster.
      const taken = await receive.take({ only: oldest.message.id }, lease, by)
      if (taken) return taken
    }
  }
}

/** Ms for which messages are looked at before others have a turn: a pattern may take long on large texts. */
const TURN = 10

async function firstThatFits(messages: readonly Candidate[], { fits }: Wish): Promise<Candidate | undefined> {
  let begun = performance.now()
  for (const candidate of messages) {
    if (fits(candidate.message)) return candidate
    if (performance.now() - begun < TURN) continue
    await nextTurn()
    begun = performance.now()
  }
  return undefined
}

/** The answers of the parts that can be reached. Rejects where none can, and with any other failure. */
async function answersOf<T>(looks: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(looks)
  const failures = settled.flatMap((look) => (look.status === 'rejected' ? [look.reason] : []))
  const isAway = (failure: unknown) => failure instanceof TriviumError && failure.code === 'store_unavailable'
  if (failures.length === looks.length || !failures.every(isAway)) {
    if (failures.length > 0) throw failures[0]
  }
  return settled.flatMap((look) => (look.status === 'fulfilled' ? [look.value] : []))
}
