import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createCounting } from '../../src/features/person/counting.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import type { Place } from '../../src/features/person/place.ts'

const ADA: Person = {
  identities: ['shop:ada@example.com'],
  messages: new Set(['1', '2', '3']),
  conversations: new Set(),
  files: new Set(),
}
const NEVER = new AbortController().signal

/** A place with this number of records, which can be read once `ready` resolves. */
function placeOf(name: string, records: number, ready: Promise<unknown> = Promise.resolve()): Place {
  return {
    name,
    where: 'store',
    mayBeOpen: false,
    async *records() {},
    async tally(_, signal) {
      await ready
      signal.throwIfAborted()
      return { count: records, kinds: {}, open: [] }
    },
    async *erase() {},
  }
}

/**
 * Counts in places. `collected.times`: how often the person was looked up, which fails with
 * `failure`; `titled.times`: how often the titles of open items were.
 */
function countingOf(places: readonly Place[], failure?: Error) {
  const collected = { times: 0 }
  const titled = { times: 0 }
  let time = 1_000
  const counting = createCounting({
    places,
    async collect() {
      collected.times++
      if (failure) throw failure
      return ADA
    },
    subjectOf: (person) => ({
      person,
      about: createReferences(
        person,
        createIdentities(person.identities, () => false),
      ),
    }),
    async withTitles(items) {
      titled.times++
      return items.map((item) => ({ ...item, title: item.title ?? 'Where is my order?' }))
    },
    elsewhere: async () => ({}),
    mentions: async () => ({
      names: ['ada@example.com'],
      messages: 0,
      done: true,
      open: { count: 0, newest: [] },
    }),
    outside: async () => ({ mailboxes: [], chats: [], models: [], receivers: [] }),
    now: () => time,
  })
  const pass = (ms: number) => {
    time += ms
  }
  return { ...counting, collected, titled, pass }
}

describe('the count of the records about a person', () => {
  test('shows its progress, continues without its caller, and is shared by all callers for a while', async () => {
    const slow = Promise.withResolvers<void>()
    const { ask, collected, pass } = countingOf([placeOf('jobs', 2), placeOf('events', 5, slow.promise)])
    const first = await ask(ADA.identities, 0, NEVER)
    assert.equal(first.done, false)
    let partial = await ask(ADA.identities, 0, NEVER)
    while (partial.at !== 'events') partial = await ask(ADA.identities, 0, NEVER)
    assert.partialDeepStrictEqual(partial, { done: false, counts: { jobs: 2 }, places: { read: 1, all: 2 } })
    const waiting = ask(ADA.identities, 60_000, NEVER)
    slow.resolve()
    const complete = await waiting
    assert.deepEqual(complete.counts, { jobs: 2, events: 5 })
    assert.partialDeepStrictEqual(complete, { done: true, total: 7, places: { read: 2, all: 2 } })
    assert.equal(complete.at, undefined)
    assert.deepEqual(await ask(ADA.identities, 0, NEVER), complete)
    assert.equal(collected.times, 1)
    pass(10_000)
    await ask(ADA.identities, 60_000, NEVER)
    assert.equal(collected.times, 2)
  })

  test('is kept when an older count of the same person ends that was stopped in favour of others', async () => {
    const slow = Promise.withResolvers<void>()
    const { ask, collected } = countingOf([placeOf('jobs', 2, slow.promise)])
    const first = ask(ADA.identities, 60_000, NEVER)
    for (let n = 0; n < 20; n++) await ask([`shop:person-${n}`], 0, NEVER)
    await ask(ADA.identities, 0, NEVER)
    assert.equal(collected.times, 22)
    slow.resolve()
    await assert.rejects(first, { name: 'AbortError' })
    await ask(ADA.identities, 60_000, NEVER)
    assert.equal(collected.times, 22)
  })

  test('has the kinds of records of a place, and what of them is open', async () => {
    const refund = { kind: 'approvals', title: 'Refund 3 EUR', id: 'a' } as const
    const tally = { count: 4, kinds: { approvals: 3, digests: 1 }, open: [refund] }
    const records: Place = { ...placeOf('records', 4), tally: async () => tally }
    const counted = await countingOf([placeOf('jobs', 2), records]).ask(ADA.identities, 60_000, NEVER)
    assert.partialDeepStrictEqual(counted, {
      counts: { jobs: 2, records: 4 },
      kinds: { records: tally.kinds },
      open: { approvals: 1 },
      openItems: [refund],
      mentions: { names: ['ada@example.com'], messages: 0, done: true },
      total: 6,
    })
  })

  test('looks up the titles of open items once, however often it is asked', async () => {
    const held = { kind: 'conversations', gateway: 'shop', conversation: 'shop:4711' } as const
    const records: Place = {
      ...placeOf('records', 1),
      tally: async () => ({ count: 1, kinds: {}, open: [held] }),
    }
    const { ask, titled } = countingOf([records])
    await ask(ADA.identities, 60_000, NEVER)
    const { openItems } = await ask(ADA.identities, 60_000, NEVER)
    assert.deepEqual(openItems, [{ ...held, title: 'Where is my order?' }])
    assert.equal(titled.times, 1)
  })

  test('fails for its caller if the person cannot be looked up', async () => {
    const failing = countingOf([placeOf('messages', 99)], new Error('the store is away'))
    await assert.rejects(failing.ask(ADA.identities, 60_000, NEVER), /the store is away/)
  })
})
