import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { timeOf } from '../../core/message-id.ts'
import { type Outcome, SEARCHED } from '../../core/message-query.ts'
import type { Store } from '../../core/store.ts'
import { MINUTE } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { REPLAYED, type Readers, WATCHED, type Watched } from './readers.ts'
import type { Reader } from './stream.ts'

/** Maximum messages per poll: 1,200 a second at four polls a second. */
const PAGE = 300
/** Up to this many outcomes are checked in every poll. */
const FEW = 100
const UNFINISHED: readonly Outcome[] = ['waiting', 'running', 'retrying', 'approval', 'replying', 'dead']
const FINISHED = /^(dropped|merged|bounced|suppressed)$/
/** Dispatch has ended; the reply may still fail, and is then `replying`. Checked in every fourth poll, for a while. */
const ANSWERED = /^(done|unrouted)$/
const ANSWERED_FOR = 5 * MINUTE

/** Sends readers new messages, and later their outcomes. */
export function createMessagesSeen(
  { journal, topics }: Pick<Store, 'journal' | 'topics'>,
  readers: Readers,
  now: () => number,
) {
  const watched = new Map<string, Watched>()
  const answered = new Map<string, Watched & { until: number }>()
  /** Position sent so far, per partition. */
  let seen: number[] = []
  const ends = () => {
    const all = Array.from({ length: topics.partitions(MESSAGE_TOPIC) }, (_, at) =>
      topics.end(MESSAGE_TOPIC, at),
    )
    return Promise.all(all)
  }
  const watch = ({ message, outcome }: Watched) => {
    watched.delete(message.id)
    answered.delete(message.id)
    if (FINISHED.test(outcome)) return
    const one = { message: inShort(message), outcome }
    if (ANSWERED.test(outcome)) put(answered, { ...one, until: now() + ANSWERED_FOR })
    else put(watched, one)
  }
  const answeredLately = () => {
    for (const [id, { until }] of answered) if (until < now()) answered.delete(id)
    return answered.values()
  }
  const newest = createNewest({ journal, topics })

  return {
    /** Starts at the end: existing messages are not new. */
    async begin(): Promise<void> {
      seen = await ends()
      const { found } = await journal.search({ limit: PAGE, outcomes: UNFINISHED })
      const { found: latest } = await journal.search({ limit: PAGE })
      const isLate = ({ message: { id }, outcome }: Watched) =>
        ANSWERED.test(outcome) && timeOf(id) > now() - ANSWERED_FOR
      for (const one of [...latest.filter(isLate), ...found].reverse()) watch(one)
    },
    async lookForMessages(): Promise<void> {
      const end = await ends()
      if (end.every((last, at) => last <= (seen[at] ?? 0))) return
      const { found, missed } = await newest(seen, end, PAGE)
      seen = end
      for (const one of found) watch(one)
      readers.show(found, missed)
    },
    /** `isDue`: check even if there are many. */
    async lookForOutcomes(isDue: boolean): Promise<void> {
      if (watched.size > FEW && !isDue) return
      const all = [...watched.values(), ...(isDue ? answeredLately() : [])]
      const outcomes = await journal.outcomes(all.map(({ message }) => message.id))
      for (const [index, { message, outcome: before }] of all.entries()) {
        const outcome = outcomes[index]
        // The message has expired.
        if (!outcome) for (const known of [watched, answered]) known.delete(message.id)
        if (!outcome || outcome === before) continue
        watch({ message, outcome })
        readers.tellOutcome({ message, outcome }, before, now())
      }
    },
    /** Sends a returning reader what it missed. */
    async replay(reader: Reader): Promise<void> {
      const last = topics.placeOf(MESSAGE_TOPIC, reader.after ?? '')
      if (!last || !reader.wants('message')) return
      // The last positions in other partitions are unknown, so the same number is assumed.
      const count = (seen[last.partition] ?? 0) - last.position
      const after = seen.map((end) => Math.max(0, end - count))
      if (count <= 0) return
      const { found, missed } = await newest(after, seen, REPLAYED)
      readers.show(found, missed, reader)
    },
  }
}

/** Adds a message, and forgets the oldest ones above the limit. */
function put<T extends Watched>(known: Map<string, T>, one: T): void {
  known.set(one.message.id, one)
  for (const id of known.keys()) if (known.size > WATCHED) known.delete(id)
}

/** Finds the newest messages between positions, oldest first, and the number of omitted ones. */
function createNewest({ journal, topics }: Pick<Store, 'journal' | 'topics'>) {
  return async (after: readonly number[], end: readonly number[], most: number) => {
    const isMeant = ({ message }: Watched) => {
      const { partition, position } = topics.placeOf(MESSAGE_TOPIC, message.id) ?? {
        partition: -1,
        position: 0,
      }
      // Later messages are for the next poll.
      return position > (after[partition] ?? 0) && position <= (end[partition] ?? 0)
    }
    const all = end.reduce((sum, last, at) => sum + last - (after[at] ?? 0), 0)
    const found: Watched[] = []
    let before: string | undefined
    do {
      const limit = Math.min(PAGE, most - found.length, all - found.length)
      if (limit <= 0) break
      const page = await journal.search({ limit, before })
      const meant = page.found.filter(isMeant)
      found.push(...meant)
      const last = topics.placeOf(MESSAGE_TOPIC, page.found.at(-1)?.message.id ?? '')
      const isPast = meant.length === 0 && last && last.position <= (after[last.partition] ?? 0)
      before = isPast || page.found.length < limit ? undefined : page.next
    } while (before !== undefined)
    return { found: found.reverse(), missed: all - found.length }
  }
}

/** A message without large fields that filters ignore. Copied, as a slice would keep the whole text alive. */
function inShort({ html: _html, data: { event }, text, ...rest }: Message): Message {
  return { ...rest, data: defined({ event }), text: Buffer.from(text.slice(0, SEARCHED)).toString() }
}
