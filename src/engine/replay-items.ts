import type { Caller } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import type { JsonObject } from '../core/json.ts'
import type { JobItem, JobItems, LongJob } from '../core/long-job.ts'
import { timeOf } from '../core/message-id.ts'
import type { PlacedEvent, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isWantedOutcome } from '../lib/item-outcomes.ts'
import { isGroupReplay } from '../lib/replay-reads.ts'
import { eventsOf } from './later-replays.ts'
import type { LongWork } from './long-work.ts'
import { withTexts } from './message-texts.ts'
import { createPageReader } from './replay-pages.ts'
import { partOf } from './replay-parts.ts'
import { type Data, dataIn } from './replay-work.ts'
import type { ReplayedSince } from './replayed-since.ts'
import { chunksOf, createWithdrawnEvents, withdrawalKey } from './withdrawn-events.ts'

/** Number of positions that are read at once. */
const STEP = 100
/** Maximum number of positions that one page examines. */
const MOST_EXAMINED = 1_000

/** Consecutive events of a replay: those after the position `after`, up to `last`. */
export type ItemPage = { events: readonly PlacedEvent[]; after: number; last: number; partition: number }
/** What became of events; `withdrawn`: those that the job withdrew. */
export type ItemStates = (
  job: LongJob,
  page: ItemPage,
  withdrawn: ReadonlySet<string>,
) => Promise<(Pick<JobItem, 'outcome'> & Partial<JobItem>)[]>

export type ItemQuery = { outcome?: string | undefined; after?: string | undefined; limit: number }
export type ItemsOf = (job: LongJob, query: ItemQuery, caller: Caller) => Promise<JobItems>
type ItemStore = Pick<Store, 'topics' | 'journal' | 'kv'>

/**
 * The events of a replay, oldest first in each partition, with their present state. A page examines a
 * limited number of events, so with an `outcome` it may be empty and have a `next`.
 */
export function createReplayItems(deps: {
  store: ItemStore
  work: Pick<LongWork, 'dataOf'>
  since(job: LongJob): Promise<ReplayedSince>
  pushStates: ItemStates
}) {
  const { store, work } = deps
  const statesOfGroup = createGroupStates(store)
  return async (job: LongJob, { outcome, after, limit }: ItemQuery, caller: Caller): Promise<JobItems> => {
    const data = dataIn(await work.dataOf(job.id))
    if (!data) return { items: [] }
    const describe = isGroupReplay(job) ? statesOfGroup : deps.pushStates
    const chunkOf = chunksOf(store.topics, data.topic)
    const withdrawals = createWithdrawnEvents(store.kv, withdrawalKey(job.target))
    const leftOut = createWithdrawnEvents(store.kv, withdrawalKey(job.target), 'left-out')
    const found: JobItem[] = []
    let cursor = after
    let examined = 0
    for await (const { events, ...place } of pagesOf(store, job, data, after)) {
      const all = events.map(({ event }) => event.id)
      const others = await leftOut.among(job.startedAt, all, chunkOf)
      const page = { ...place, events: events.filter(({ event }) => !others.has(event.id)) }
      const ids = page.events.map(({ event }) => event.id)
      const withdrawn = await withdrawals.among(job.startedAt, ids, chunkOf)
      const states = await describe(job, page, withdrawn)
      for (const [at, { event, position }] of page.events.entries()) {
        const state = states[at]
        if (!state || !isWantedOutcome(state.outcome, outcome)) continue
        const queue = isGroupReplay(job) ? `${data.topic}/${data.group}` : `push/${data.group}`
        found.push({ queue, id: event.id, at: timeOf(event.id), ...state })
        cursor = `${page.partition}.${position}`
        if (found.length === limit) break
      }
      if (found.length < limit) cursor = `${page.partition}.${page.last}`
      examined += page.last - page.after
      if (found.length === limit || examined >= MOST_EXAMINED) break
    }
    const isEnd = found.length < limit && examined < MOST_EXAMINED
    const items = await withLater(found, job, deps.since)
    const isOfMessages = data.topic === MESSAGE_TOPIC
    const named = isOfMessages
      ? await withTexts(store, await withDeliveries(store, items, job), caller)
      : items
    return { items: named, ...(!isEnd && defined({ next: cursor })) }
  }
}

/** The events of a replay after a cursor, in steps. */
async function* pagesOf(
  store: ItemStore,
  job: LongJob,
  data: Data,
  cursor: string | undefined,
): AsyncGenerator<ItemPage> {
  const { topics } = store
  const { first, position } = placeIn(cursor)
  const readPage = createPageReader(store, data)
  for (const [partition, { after: end }] of data.parts.entries()) {
    if (partition < first) continue
    const isCursor = partition === first && position !== undefined
    let after = isCursor ? position : (await partOf(topics, data.topic, partition, eventsOf(job))).after
    const only = data.only && placesIn(topics, data, partition)
    while (after < end) {
      const next: number | undefined = only ? only.find((place) => place > after) : after + 1
      if (next === undefined) break
      const from = next - 1
      const page = await readPage({ after: from, last: Math.min(end, from + STEP) }, partition)
      const last = Math.min(page.last, end)
      yield { events: page.wanted, after: from, last, partition }
      after = last
    }
  }
}

/** The error for a cursor that is of no page. */
export function noPage(after: string): TriviumError {
  return new TriviumError('bad_request', { reason: `after: "${after}" is not the \`next\` of a page` })
}

/** The partition and the position that a cursor names. Throws `bad_request`. */
function placeIn(cursor: string | undefined): { first: number; position?: number } {
  if (cursor === undefined) return { first: 0 }
  const [, first, position] = CURSOR.exec(cursor) ?? []
  if (position === undefined) throw noPage(cursor)
  return { first: Number(first), position: Number(position) }
}

/** With positions that a number represents exactly. */
const CURSOR = /^(\d{1,9})\.(\d{1,15})$/

/** The positions of the selected events in a partition, in order. */
function placesIn(topics: Store['topics'], { topic, only = [] }: Data, partition: number): number[] {
  return only
    .flatMap((id) => topics.placeOf(topic, id) ?? [])
    .flatMap((place) => (place.partition === partition ? place.position : []))
    .toSorted((a, b) => a - b)
}

function createGroupStates({ topics }: ItemStore): ItemStates {
  return async ({ target }, { events, after, last, partition }, withdrawn) => {
    const [topic, group] = [String(target.topic), String(target.group)]
    const [batch] = await topics.read(topic, [{ group, max: last - after, mode: 'peek', partition, after }])
    const unread = new Set(batch?.items.map(({ id }) => id))
    const all = await topics.unread(topic, group, { after, last, partition })
    const isAnyLeased = batch !== undefined && Number(all) > 0
    return Promise.all(
      events.map(async ({ event, position }) => {
        if (!batch) return { outcome: 'unknown' }
        if (unread.has(event.id)) return { outcome: 'waiting' }
        if (withdrawn.has(event.id)) return { outcome: 'withdrawn' }
        const range = { after: position - 1, last: position, partition }
        const isLeased = isAnyLeased && (await topics.unread(topic, group, range)) === 1
        return { outcome: isLeased ? 'running' : 'read' }
      }),
    )
  }
}

/** Adds to delivered events of messages when they were delivered: their histories have all attempts. */
function withDeliveries({ journal }: ItemStore, items: readonly JobItem[], job: LongJob): Promise<JobItem[]> {
  const { subscription } = job.target
  return Promise.all(
    items.map(async (item) => {
      if (subscription === undefined || item.outcome !== 'delivered' || item.deliveredAt !== undefined)
        return item
      const delivery = (await journal.history(item.id)).findLast(({ road, detail }) => {
        const { subscription: push, since, reason }: JsonObject = Object(detail)
        return road === 'push' && push === subscription && since === job.startedAt && reason === undefined
      })
      return { ...item, ...defined({ deliveredAt: delivery?.at }) }
    }),
  )
}

/** Adds to withdrawn events the later replay that has them. */
async function withLater(
  items: readonly JobItem[],
  job: LongJob,
  since: (job: LongJob) => Promise<ReplayedSince>,
): Promise<JobItem[]> {
  if (!items.some(({ outcome }) => outcome === 'withdrawn')) return [...items]
  const { by } = await since(job)
  return items.map((item) => {
    const later = by.get(item.id)
    if (item.outcome !== 'withdrawn' || later === undefined) return item
    const action = (job.later ?? []).find((each) => each.job === later)
    const isDelivered = action?.delivered === true
    return { ...item, later: { do: 'replay', job: later, ...(isDelivered && { delivered: true }) } }
  })
}
