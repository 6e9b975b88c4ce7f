import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Event } from '../../../src/core/event.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import { makeId } from '../../../src/core/message-id.ts'
import type { Claim, DeadReason, MessageSearch, NewJob, Page, Store } from '../../../src/core/store.ts'

export { silent } from '../../../src/core/log.ts'
export { until } from '../../fixtures/until.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const WEEK = 7 * DAY

/** The data of one case, initially empty. The test of each store provides it. */
export type StoreFixture = {
  /**
   * Opens a store over this data. After `close()` it is called again, to test what survives a
   * restart. The store must use `now` (Unix ms) for everything that expires, and `toEvent` for the
   * events of messages.
   */
  open(options: StoreOptions): Promise<Store>
  /** Whether two open stores can share the data (two daemons on one Redis). */
  shared: boolean
  /** Removes the data, after all stores were closed. */
  dispose(): Promise<void>
}

export type StoreOptions = { now: () => number; toEvent: (message: Message) => Event }

export type StoreFactory = {
  /** Creates a fixture without data. */
  create(): Promise<StoreFixture>
  /** Whether this store does not run the case with this name. */
  leavesOut(name: string): boolean
}

/** The store of one case, and its clock, which stands still unless `advance` moves it. */
export type Bench = {
  store: Store
  shared: boolean
  now(): number
  advance(ms: number): void
  /** Closes the store and opens it again over the same data. */
  reopen(): Promise<Store>
  /** Another store over the same data, open at the same time. Only where `shared`. */
  second(): Promise<Store>
}

/** Runs `body` with an empty store, then closes all stores and removes the data. */
export async function withStore(factory: StoreFactory, body: (bench: Bench) => Promise<void>): Promise<void> {
  const fixture = await factory.create()
  let time = Date.now()
  const open = () => fixture.open({ now: () => time, toEvent })
  const others: Store[] = []
  const bench: Bench = {
    store: await open(),
    shared: fixture.shared,
    now: () => time,
    advance: (ms) => {
      time += ms
    },
    reopen: async () => {
      await bench.store.close()
      bench.store = await open()
      return bench.store
    },
    second: async () => {
      const other = await open()
      others.push(other)
      return other
    },
  }
  try {
    await body(bench)
  } finally {
    for (const store of [...others, bench.store]) await store.close()
    await fixture.dispose()
  }
}

/** Registers one part of the suite. Each case gets a store of its own. */
export function part(
  factory: StoreFactory,
  title: string,
  cases: Record<string, (bench: Bench) => Promise<void>>,
): void {
  describe(title, () => {
    for (const [name, body] of Object.entries(cases)) {
      if (!factory.leavesOut(name)) test(name, () => withStore(factory, body))
    }
  })
}

/** The `toEvent` of the suite, with the fields that the cases assert. */
export function toEvent(message: Message): Event {
  return {
    id: message.id,
    topic: MESSAGE_TOPIC,
    type: message.transport,
    source: message.gateway,
    data: { messageId: message.id, conversation: message.conversation, body: message.text },
    timestamp: message.receivedAt,
  }
}

/** A message with this text. */
export function saying(text: string, rest: Partial<NewMessage> = {}): NewMessage {
  return { gateway: 'demo', transport: 'webhook', from: { id: 'ada' }, text, data: {}, ...rest }
}

/** Accepts messages with these texts and returns their ids. */
export async function acceptAll(
  store: Pick<Store, 'journal'>,
  texts: readonly string[],
  rest: Partial<NewMessage> = {},
) {
  const answers = await store.journal.accept(texts.map((text) => saying(text, rest)))
  return answers.map((answer) => answer.id)
}

/** Moves the dispatch cursor past all messages, without adding jobs. */
export async function pumpAll(store: Store): Promise<void> {
  for (;;) {
    const { cursor, items: messages } = await store.journal.unpumped(1_000)
    const last = messages.at(-1)
    if (!last) return
    await store.journal.pumped(cursor, last.id, [])
  }
}

/** The newest matching messages, newest first. Each search may stop early, as its time is limited. */
export async function newest({ journal }: Store, limit: number, query: Omit<MessageSearch, 'limit'> = {}) {
  const messages: Message[] = []
  let before: string | undefined
  do {
    const page = await journal.search({ ...query, ...(before && { before }), limit: limit - messages.length })
    messages.push(...page.found.map(({ message }) => message))
    before = page.next
  } while (before !== undefined && messages.length < limit)
  return messages
}

/**
 * All items of a read, page by page, while it says that there is more. `next` is called with the
 * last item so far; a consuming read ignores it.
 */
export async function readAll<Item>(next: (last: Item | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  const all: Item[] = []
  for (let pages = 0; ; pages++) {
    assert.ok(pages < 1_000, 'the read comes to an end')
    const { items, more } = await next(all.at(-1))
    all.push(...items)
    if (!more) return all
  }
}

/**
 * As `readAll`, for a read that continues after the last item: a page with `more` has at least
 * one.
 */
export function readAllAfter<Item>(next: (last: Item | undefined) => Promise<Page<Item>>): Promise<Item[]> {
  return readAll<Item>(async (last) => {
    const page = await next(last)
    assert.ok(page.items.length > 0 || !page.more, 'a page with more has items')
    return page
  })
}

/** Publishes an event for each item of `data` and returns their ids. */
export function publishAll(store: Store, topic: string, data: readonly string[]): Promise<string[]> {
  return store.topics.publish(
    topic,
    data.map((each) => ({ type: 'note', source: 'test', data: each })),
  )
}

/** Reads up to 100 events for one group, which must exist. */
export async function readGroup(
  store: Store,
  topic: string,
  group: string,
  mode: 'consume' | 'peek' | 'lease',
  options: { max?: number; lease?: number } = {},
) {
  const [batch] = await store.topics.read(topic, [{ group, max: 100, mode, ...options }])
  assert.ok(batch, `group ${group} exists`)
  return batch
}

/** The id with which a group acknowledges a gap of `missed` events. */
export function gapId(missed: number): string {
  return makeId(0, 0, missed)
}

/** The data of a batch's events. */
export function dataOf(batch: { items: readonly Event[] }) {
  return batch.items.map((event) => event.data)
}

export function job(id: string, lane: string, rest: Partial<NewJob> = {}): NewJob {
  return { id, lane, group: 'g', ...rest }
}

/** Claims up to 100 jobs for a minute. */
export async function claimJobs(store: Store, queue: string, options: Partial<Claim> = {}) {
  return store.jobs.claim(queue, { max: 100, lease: MINUTE, ...options })
}

/** Claims exactly one job. */
export async function claimOne(store: Store, queue: string) {
  const { items: jobs } = await claimJobs(store, queue, { max: 1 })
  const [claimed] = jobs
  assert.ok(claimed, 'a job can be claimed')
  return claimed
}

/** Adds a job and settles it as dead. The message of its error is the id of the job. */
export async function bury(
  { store, now }: Pick<Bench, 'store' | 'now'>,
  queue: string,
  newJob: NewJob,
  reason: DeadReason = 'attempts',
) {
  await store.jobs.add(queue, [newJob])
  const { id, token } = await claimOne(store, queue)
  const error = failure(id, now())
  await store.jobs.settle(queue, [{ id, token, outcome: 'dead', error, reason }])
}

/** Claims jobs and returns their ids, in the order in which they were claimed. */
export async function claimIds(store: Store, queue: string, options: Partial<Claim> = {}) {
  const { items: jobs } = await claimJobs(store, queue, options)
  return jobs.map((claimed) => claimed.id)
}

export function failure(message: string, at: number) {
  return { at, code: 'skill_failed', message, stack: `Error: ${message}` }
}
