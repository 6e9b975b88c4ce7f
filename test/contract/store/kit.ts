import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Event } from '../../../src/core/event.ts'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import type { Message, NewMessage } from '../../../src/core/message.ts'
import { makeId } from '../../../src/core/message-id.ts'
import type { Claim, DeadReason, MessageSearch, NewJob, Page, Store } from '../../../src/core/store.ts'

export { silent as quiet } from '../../../src/core/log.ts'
export { until } from '../../fixtures/until.ts'

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const WEEK = 7 * DAY

/** One set of data that starts empty, as a store's own test hands it to the suite. */
export type StoreFixture = {
  /**
   * Opens a store over this fixture's data. Called again after `close()` of the store before it, to see
   * what a restart keeps. The store must read the time from `now` (Unix ms) for whatever can expire,
   * and make the events of messages with `toEvent`.
   */
  open(options: StoreOptions): Promise<Store>
  /** True where two open stores may share the data (two daemons on one Redis). */
  shared: boolean
  /** Removes the data. Every store is closed by then. */
  dispose(): Promise<void>
}

export type StoreOptions = { now: () => number; toEvent: (message: Message) => Event }

export type StoreFactory = {
  /** Makes a fixture with no data in it. */
  create(): Promise<StoreFixture>
  /** Whether a case is left out for this store. */
  leavesOut(name: string): boolean
}

/** What one case works with. The clock stands still unless `advance` moves it. */
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

/** Runs a body against a fresh store and takes everything down after it. */
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

/** Registers one part of the suite: cases that each get a store of their own. */
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

/** The `toEvent` of the suite: flat, with what the cases look at. */
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

/** A message that says `text`. */
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

/** The newest messages that match, newest first, of one search; it may stop before `limit`. */
export async function newest({ journal }: Store, limit: number, query: Omit<MessageSearch, 'limit'> = {}) {
  return (await journal.search({ ...query, limit })).found.map(({ message }) => message)
}

/**
 * All items of a read, page by page, while it says that there is more. `next` is called with the last
 * item so far; a consuming read ignores it.
 */
export async function whileMore<Item>(
  next: (last: Item | undefined) => Promise<Page<Item>>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let steps = 0; ; steps++) {
    assert.ok(steps < 1_000, 'it ends')
    const { items, more } = await next(all.at(-1))
    all.push(...items)
    if (!more) return all
  }
}

/** Publishes events with these names as data and returns their ids. */
export function publishAll(store: Store, topic: string, names: readonly string[]): Promise<string[]> {
  return store.topics.publish(
    topic,
    names.map((name) => ({ type: 'note', source: 'test', data: name })),
  )
}

/** Reads for one group, which must exist. */
export async function readGroup(
  store: Store,
  topic: string,
  group: string,
  mode: 'consume' | 'peek' | 'lease',
  options: { max?: number; lease?: number } = {},
) {
  const [batch] = await store.topics.read(topic, [{ group, max: 100, mode, ...options }])
  assert.ok(batch, `group ${group} is there`)
  return batch
}

/** The id of a gap, with which a group acknowledges that it missed so many events. */
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

/** Claims up to `max` jobs for a minute. */
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

/** Adds a job and lets it die of one error, whose message is the id of the job. */
export async function bury(
  { store, now }: Bench,
  queue: string,
  dying: NewJob,
  reason: DeadReason = 'attempts',
) {
  await store.jobs.add(queue, [dying])
  const { id, token } = await claimOne(store, queue)
  const error = failure(id, now())
  await store.jobs.settle(queue, [{ id, token, outcome: 'dead', error, reason }])
}

/** Claims jobs and returns their ids, in the order of the answer. */
export async function claimIds(store: Store, queue: string, options: Parameters<typeof claimJobs>[2] = {}) {
  const { items: jobs } = await claimJobs(store, queue, options)
  return jobs.map((claimed) => claimed.id)
}

export function failure(message: string, at: number) {
  return { at, code: 'skill_failed', message, stack: `Error: ${message}` }
}
