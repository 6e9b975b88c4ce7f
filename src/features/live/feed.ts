import { reasonOf } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Message } from '../../core/message.ts'
import { createMatcher, type Outcome, SEARCHED } from '../../core/message-query.ts'
import type { Approval } from '../../core/services.ts'
import type { DeadLetter, Store } from '../../core/store.ts'
import type { Trouble } from '../../core/trouble.ts'
import { rowOf, searchOf } from '../../engine/search.ts'
import { defined } from '../../lib/defined.ts'
import { createLoop } from '../../lib/loop.ts'
import type { History, Point } from './history.ts'
import type { Reader, STREAMED } from './stream.ts'

/** Ms between two looks, messages that one look shows at most: a thousand a second, which may come unevenly; looks between two of what changes slowly. */
const EVERY = 250
const PAGE = 300
const SLOWLY = 4
/** Messages that a reader who comes back is shown of what it missed, and those whose outcome is watched. */
const REPLAYED = 1_000
const WATCHED = 1_000
/** So many are cheap enough to be looked at each time. */
const FEW = 100
const DEATHS = 20
const UNFINISHED: readonly Outcome[] = ['waiting', 'running', 'retrying', 'approval', 'dead']
const NOTHING: Point = { at: 0, accepted: 0, done: 0, failed: 0, dead: 0, unrouted: 0, sent: 0, refused: 0 }

type Watched = { message: Message; outcome: Outcome }
type Event = (typeof STREAMED)[number]

type FeedDeps = {
  store: Pick<Store, 'journal' | 'topics' | 'jobs'>
  history: Pick<History, 'every' | 'points'>
  /** What `now` shows, besides what is known here. */
  overview(): Promise<{ roads: readonly { road: string; dead?: number }[] } & object>
  /** Those that are pending, and one that was. */
  approvals(): Promise<Approval[]>
  approval(id: string): Promise<Approval | undefined>
  /** Never throws: also while the store is away. */
  troubles(): Promise<Trouble[]>
  now(): number
}

/**
 * Shows readers what happens on the store, whichever daemon did it: by looking, so that accepting a message costs nothing more, and
 * only while somebody reads. One look is for all of them.
 */
export function createFeed(deps: FeedDeps) {
  let watching: ReturnType<typeof startWatching> | undefined
  return {
    /** Shows a reader what happens until what it returns is called. */
    read(reader: Reader): () => void {
      const current = watching ?? startWatching(deps)
      watching = current
      current.join(reader)
      return () => {
        if (current.leave(reader) > 0) return
        void current.stop()
        if (watching === current) watching = undefined
      }
    },
  }
}

function startWatching(deps: FeedDeps) {
  const { store, history, now } = deps
  const { journal, topics } = store
  const readers = new Map<Reader, { matches(message: Message): boolean; outcomes: Outcome[] | undefined }>()
  const joining = new Set<Reader>()
  const watched = new Map<string, Watched>()
  let pending = new Map<string, Approval>()
  let [hasBegun, look, newestDeath, shownPoint, shownNow] = [false, 0, 0, 0, '']
  /** Up to where messages were shown, of each partition. */
  let seen: number[] = []
  const ends = () => {
    const all = Array.from({ length: topics.partitions(MESSAGE_TOPIC) }, (_, at) =>
      topics.end(MESSAGE_TOPIC, at),
    )
    return Promise.all(all)
  }

  const tell = (event: Event, data: unknown) => {
    for (const reader of readers.keys()) if (reader.wants(event)) reader.send(event, data)
  }
  const watch = ({ message, outcome }: Watched) => {
    watched.delete(message.id)
    if (/^(done|unrouted|dropped|merged|bounced|suppressed)$/.test(outcome)) return
    watched.set(message.id, { message: inShort(message), outcome })
    for (const id of watched.keys()) if (watched.size > WATCHED) watched.delete(id)
  }

  /** The newest messages after positions up to others, oldest first; and how many of them are left out. */
  const newest = async (after: readonly number[], end: readonly number[], most: number) => {
    const isMeant = ({ message }: Watched) => {
      const { partition, position } = topics.placeOf(MESSAGE_TOPIC, message.id) ?? {
        partition: -1,
        position: 0,
      }
      // What came meanwhile is for the next look.
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

  const show = (reader: Reader, found: readonly Watched[], missed: number) => {
    const of = readers.get(reader)
    if (!of || !reader.wants('message')) return
    if (missed > 0) reader.missed(missed)
    for (const { message, outcome } of found) {
      const isMeant = of.matches(message) && (of.outcomes?.includes(outcome) ?? true)
      if (isMeant) reader.send('message', rowOf(message, outcome), message.id)
    }
  }

  const lookForMessages = async () => {
    const end = await ends()
    if (end.every((last, at) => last <= (seen[at] ?? 0))) return
    const { found, missed } = await newest(seen, end, PAGE)
    seen = end
    for (const one of found) watch(one)
    for (const reader of readers.keys()) show(reader, found, missed)
  }

  const lookForOutcomes = async () => {
    if (watched.size > FEW && look % SLOWLY > 0) return
    const all = [...watched.values()]
    const outcomes = await journal.outcomes(all.map(({ message }) => message.id))
    for (const [index, { message, outcome: before }] of all.entries()) {
      const outcome = outcomes[index]
      // Retention has removed it.
      if (!outcome) watched.delete(message.id)
      if (!outcome || outcome === before) continue
      watch({ message, outcome })
      for (const [reader, { outcomes: wanted, matches }] of readers) {
        if (!matches(message)) continue
        // A filter for outcomes shows a message once it has one of them.
        if (wanted && !wanted.includes(before) && reader.wants('message')) {
          if (wanted.includes(outcome)) reader.send('message', rowOf(message, outcome))
        } else if (reader.wants('outcome')) reader.send('outcome', { id: message.id, outcome, at: now() })
      }
    }
  }

  const lookForApprovals = async () => {
    const open = new Map((await deps.approvals()).map((one) => [one.id, one]))
    for (const [id, one] of open) if (!pending.has(id)) tell('approval', one)
    const ended = [...pending.keys()].filter((id) => !open.has(id))
    pending = open
    for (const id of ended) tell('approval', (await deps.approval(id)) ?? { id, status: 'expired' })
  }

  const lookForDeaths = async () => {
    const letters = await store.jobs.deadLetters.list({ limit: DEATHS })
    for (const letter of letters.filter(({ at }) => at > newestDeath).reverse())
      tell('dead', briefLetter(letter))
    newestDeath = Math.max(newestDeath, letters[0]?.at ?? 0)
  }

  const overview = async () => {
    try {
      const [found, troubles] = await Promise.all([deps.overview(), deps.troubles()])
      const queues = found.roads.flatMap(({ road, dead = 0 }) => (dead > 0 ? [[road, dead] as const] : []))
      const total = queues.reduce((sum, [, dead]) => sum + dead, 0)
      const { accepted, done, failed, dead, unrouted, sent, refused } = history.points().at(-1) ?? NOTHING
      const rates = { accepted, done, failed, dead, unrouted, sent, refused }
      const deadLetters = { total, queues: Object.fromEntries(queues) }
      return { ...found, rates, approvals: pending.size, deadLetters, troubles }
    } catch (error) {
      return { error: reasonOf(error), troubles: await deps.troubles() }
    }
  }
  const tellNow = async () => {
    const said = await overview()
    const text = JSON.stringify(said)
    if (text !== shownNow) tell('now', { at: now(), ...said })
    shownNow = text
  }

  const lookSlowly = async () => {
    const last = history.points().at(-1)
    if (last && last.at > shownPoint) tell('point', last)
    shownPoint = last?.at ?? 0
    if (look % (2 * SLOWLY) === 0) await lookForApprovals()
    await tellNow()
    await lookForDeaths()
  }

  /** What is there already is not news. */
  const begin = async () => {
    seen = await ends()
    const { found } = await journal.search({ limit: PAGE, outcomes: UNFINISHED })
    for (const one of found.reverse()) watch(one)
    pending = new Map((await deps.approvals()).map((one) => [one.id, one]))
    const [letter] = await store.jobs.deadLetters.list({ limit: 1 })
    newestDeath = letter?.at ?? 0
    shownPoint = history.points().at(-1)?.at ?? 0
    hasBegun = true
  }

  const welcome = async (reader: Reader) => {
    const { outcomes, ...query } = searchOf(reader.filter, { kind: 'http' })
    readers.set(reader, { matches: remembered(createMatcher(query), reader.fits), outcomes })
    if (reader.wants('history')) reader.send('history', { every: history.every, points: history.points() })
    const said = await overview()
    if (readers.size === 1) shownNow = JSON.stringify(said)
    if (reader.wants('now')) reader.send('now', { at: now(), ...said })
    const last = topics.placeOf(MESSAGE_TOPIC, reader.after ?? '')
    if (!last || !reader.wants('message')) return
    // Of the others it is not known: as much is missing of them.
    const count = (seen[last.partition] ?? 0) - last.position
    const after = seen.map((end) => Math.max(0, end - count))
    if (count <= 0) return
    const { found, missed } = await newest(after, seen, REPLAYED)
    show(reader, found, missed)
  }

  const loop = createLoop({
    async step() {
      if (!hasBegun) await begin()
      for (const reader of joining) {
        joining.delete(reader)
        await welcome(reader)
      }
      await lookForMessages()
      await lookForOutcomes()
      if (++look % SLOWLY === 0) await lookSlowly()
      return EVERY
    },
    // The store is away: `now` says so.
    failed: () => {
      for (const reader of joining) {
        if (!readers.has(reader)) shownNow = ''
        readers.set(reader, { matches: () => false, outcomes: undefined })
      }
      void tellNow()
    },
    pause: 1_000,
  })
  loop.start()

  return {
    join(reader: Reader): void {
      joining.add(reader)
      loop.wake()
    },
    /** Returns how many are left. */
    leave(reader: Reader): number {
      joining.delete(reader)
      readers.delete(reader)
      return joining.size + readers.size
    },
    stop: loop.stop,
  }
}

/** A match that reads a message whole once, when it is shown; what is watched afterwards is in short. */
function remembered(matches: (message: Message) => boolean, fits: Reader['fits']): typeof matches {
  const known = new Map<string, boolean>()
  if (!fits) return matches
  return (message) => {
    const answer = known.get(message.id) ?? fits(message)
    known.set(message.id, answer)
    for (const id of known.keys()) if (known.size > WATCHED + REPLAYED) known.delete(id)
    return answer && matches(message)
  }
}

/** A message without what may be large and no filter looks at. Copied: a slice keeps the whole text alive. */
function inShort({ html: _html, data: { event }, text, ...rest }: Message): Message {
  return { ...rest, data: defined({ event }), text: Buffer.from(text.slice(0, SEARCHED)).toString() }
}

/** What a dead letter is in short. */
function briefLetter({ id, queue, group, at, reason, errors, message }: DeadLetter) {
  const { message: error, code } = errors.at(-1) ?? {}
  return { id, queue, group, at, reason, ...defined({ error, code, messageId: message?.id }) }
}
