import type { Event } from '../../core/event.ts'
import type { GroupBatch, GroupRead } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { storable } from '../shared/values.ts'
import { inBatches } from './batches.ts'
import { type Entry, positionIn } from './codec.ts'
import { createHandOver, type Handing } from './hand-over.ts'
import type { Args, Server } from './scripts.ts'

/** Maximum number of events for a group per call. */
const MAX_EVENTS = 500
/** Maximum number of positions that one XRANGE reads, as entries may be large. */
const WINDOW = 64
/** Characters after which a peek fetches no more events. */
const LARGE = 1_000_000

/**
 * As in lua/topic-read.lua. `waitMs`: -1 if no event is hidden. `heldAt`: 0 if none was held back.
 * `mayHaveMore`: 1 or 0.
 */
type GroupAnswer = [
  missed: number,
  waitMs: number,
  heldAt: number,
  mayHaveMore: number,
  deliveries: number[],
  rounds: number[],
  ...positions: number[],
]
/** Events by position, and their size in characters. */
type Known = { events: Map<number, Event>; size: number }

export type BoundedRead = GroupRead & {
  /** Consume or lease no event whose id has a later time (Unix ms). */
  until?: number
}
export type BoundedBatch = GroupBatch & {
  /** The time of the first event that was left because of `until` (Unix ms). */
  held?: number
  /** Number of characters read so far in the call, for all its groups. */
  size: number
}

/** Reads for consumer groups. */
export function createTopicRead(
  { run, call, roots, now, isClosed }: Pick<Server, 'run' | 'call' | 'roots' | 'now' | 'isClosed'>,
  eventIn: (topic: string, entry: Entry) => Event,
) {
  // A call without requests only gives back what lost replies handed out.
  const giveBack = (topic: string, handing: Handing) =>
    run('topic-read', roots.topic(topic), ...handing, topic)
  const handOver = createHandOver(giveBack, isClosed)

  async function readSome(topic: string, requests: readonly Args[]): Promise<(BoundedBatch | undefined)[]> {
    const [entries, answers] = await handOver(topic, (handing) => {
      const args = [...handing, topic, ...requests.flat()]
      return run<[Entry[], (GroupAnswer | null)[]]>('topic-read', roots.topic(topic), ...args)
    })
    const known: Known = { events: new Map(), size: 0 }
    const learn = (some: readonly Entry[]) => {
      for (const entry of some) {
        known.events.set(positionIn(entry), eventIn(topic, entry))
        known.size += entry[1][3].length
      }
    }
    learn(entries)
    const log = `${roots.topic(topic)}journal`
    const batches: (BoundedBatch | undefined)[] = []
    for (const [index, answer] of answers.entries()) {
      const [, , , , , , ...positions] = answer ?? []
      const unknown = windows(positions.filter((position) => !known.events.has(position)))
      // The first event is read however large the others are.
      const mayRead = ([from]: Window) => from === positions[0] || known.size <= LARGE
      for (let next = unknown[0]; next && mayRead(next); next = unknown[0]) {
        learn(await call('XRANGE', log, `${next[0]}-0`, `${next[1]}-0`))
        unknown.shift()
      }
      const batch = answer && toBatch(answer, known, unknown.length > 0, now())
      // Retention may have removed all events of a peek since the script ran, so it is read again.
      const isGone = batch?.items.length === 0 && positions.length > 0
      const request = requests[index]
      if (isGone && request) batches.push(...(await readSome(topic, [request])))
      else batches.push(batch ?? undefined)
    }
    return batches
  }

  return (topic: string, requests: readonly BoundedRead[]): Promise<(BoundedBatch | undefined)[]> =>
    inBatches(requests.map(argsOfRead), (batch) => readSome(topic, batch))
}

function toBatch(
  answer: GroupAnswer,
  { events: known, size }: Known,
  isCut: boolean,
  now: number,
): BoundedBatch {
  const [missed, waitMs, heldAt, mayHaveMore, allDeliveries, allRounds, ...positions] = answer
  const items = positions.flatMap((position) => known.get(position) ?? [])
  const isThere = (_: number, at: number) => known.has(positions[at] ?? 0)
  const deliveries = allDeliveries.filter(isThere)
  const rounds = allRounds.filter(isThere)
  return {
    items,
    more: isCut || mayHaveMore === 1,
    missed,
    size,
    ...defined({ held: heldAt || undefined, nextVisible: waitMs < 0 ? undefined : now + waitMs }),
    ...(allDeliveries.length > 0 && { deliveries }),
    ...(allRounds.length > 0 && { rounds }),
  }
}

type Window = [from: number, to: number]

/** The ranges to read for these ascending positions. */
function windows(positions: readonly number[]): Window[] {
  const found: Window[] = []
  for (const position of positions) {
    const last = found.at(-1)
    if (last && position < last[0] + WINDOW) last[1] = position
    else found.push([position, position])
  }
  return found
}

function argsOfRead({ group, max, mode, lease = 0, after = 0, until, ...asks }: BoundedRead): Args {
  const leaseOrAfter = mode === 'peek' ? after : storable(lease)
  const flags = [asks.isCounted ? 1 : '', asks.withRounds ? 1 : '']
  return [group, Math.min(max, MAX_EVENTS), mode, leaseOrAfter, until ?? '', ...flags]
}
