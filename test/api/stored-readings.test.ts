import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRetryCauses } from '../../src/api/last-failures.ts'
import { createLetterCauses } from '../../src/api/letter-causes.ts'
import { createStoredReadings } from '../../src/api/stored-readings.ts'
import { TriviumError } from '../../src/core/errors.ts'
import type { Message } from '../../src/core/message.ts'
import type { LetterFilter } from '../../src/core/store.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'

test('the list of troubles has the shard that is away, and the causes of the dead letters on the others', async (t) => {
  const store = await openStore(t)
  const error = { at: 1, code: 'skill_failed', message: 'the shop is closed' }
  await store.jobs.add('dispatch', [{ id: 'a', lane: 'l', group: 'orders' }])
  const { items } = await store.jobs.claim('dispatch', { max: 1, lease: 60_000 })
  const [{ id = '', token = '' } = {}] = items
  await store.jobs.settle('dispatch', [{ id, token, outcome: 'dead', reason: 'attempts', error }])
  const deadLetters = {
    ...store.jobs.deadLetters,
    async list(filter: LetterFilter) {
      if (filter.isPartial) return { ...(await store.jobs.deadLetters.list(filter)), away: [1] }
      throw new TriviumError('store_unavailable', { store: 'redis', reason: 'it hangs' })
    },
  }
  const read = createStoredReadings({
    store: {
      ...store,
      jobs: { ...store.jobs, deadLetters },
      stats: async () => ({ ...(await store.stats()), away: [1] }),
    },
    readCauses: createLetterCauses(deadLetters, Date.now),
    approvals: { list: async () => [] },
    pulls: async () => [],
    subscriptions: async () => [],
    budgets: async () => [],
    conversations: async () => ({ conversations: [] }),
    draining: () => false,
    log: createMemoryLog(),
    now: Date.now,
  })
  const found = await read()
  assert.deepEqual(found?.stats.away, [1])
  assert.deepEqual(
    found?.causes.map(({ group, code, count }) => [group, code, count]),
    [['orders', 'skill_failed', 1]],
  )
})

test('messages that are tried again for long have the last failure of the newest one', async () => {
  const one = {
    road: 'dispatch',
    gateway: 'shop',
    oldestAt: 0,
    state: 'retrying',
    count: 2,
    nextAt: 9,
  } as const
  const message = { ...messageOf({}), id: 'm1' }
  const detail = { route: 'loyalty', error: '423 Locked', attempt: 1 }
  const journal = {
    search: async () => ({ found: [{ message, outcome: 'retrying' as const }] }),
    history: async () => [{ at: 1, road: 'dispatch' as const, what: 'failed', detail }],
  }
  const failure = { messageId: 'm1', route: 'loyalty', error: '423 Locked' }
  const [found] = await createRetryCauses(journal)([one], 3_600_000)
  assert.partialDeepStrictEqual(found, { ...one, failure })
  assert.deepEqual(
    found?.people?.map(({ messageId }) => messageId),
    ['m1'],
  )
  assert.deepEqual(await createRetryCauses(journal)([one], 1), [one])
})

test('messages that are tried again are found in older parts of the journal, and the others are counted', async () => {
  const one = {
    road: 'dispatch',
    gateway: 'shop',
    oldestAt: 0,
    state: 'retrying',
    count: 5,
    nextAt: 9,
  } as const
  const messages = ['a', 'b'].map((id) => ({ ...messageOf({}), id, receivedAt: 1_000 }))
  const errors: Record<string, string> = { a: '423 Locked', b: 'SKU undefined' }
  const journal = {
    // Each page covers a part of the journal, and the newest part has none of them.
    search: async ({ before = '0' }: { before?: string | undefined }) => {
      const message = messages[Number(before) - 1]
      return {
        found: message ? [{ message, outcome: 'retrying' as const }] : [],
        next: String(Number(before) + 1),
      }
    },
    history: async (id: string) => [
      { at: 1, road: 'dispatch' as const, what: 'failed', detail: { error: errors[id] ?? '' } },
    ],
  }
  const found = await createRetryCauses(journal)([one], 3_600_000)
  assert.deepEqual(
    found.map((each) => [Object(each).count, each.failure?.error]),
    [
      [1, '423 Locked'],
      [1, 'SKU undefined'],
      [3, undefined],
    ],
  )
})

test('tests do not count among the messages that are tried again, and do not hide why others fail', async () => {
  const one = {
    road: 'dispatch',
    gateway: 'shop',
    oldestAt: 0,
    state: 'retrying',
    count: 2,
    nextAt: 9,
  } as const
  const tested = { ...messageOf({ data: { replyTarget: { test: true } } }), id: 'test' }
  const real = { ...messageOf({}), id: 'real', receivedAt: 1_000 }
  const errors: Record<string, string> = { test: 'the sample has no SKU', real: '423 Locked' }
  const journalOf = (messages: Message[]) => ({
    search: async () => ({ found: messages.map((message) => ({ message, outcome: 'retrying' as const })) }),
    history: async (id: string) => [
      { at: 1, road: 'dispatch' as const, what: 'failed', detail: { error: errors[id] ?? '' } },
    ],
  })
  const failure = { messageId: 'real', error: '423 Locked' }
  const found = await createRetryCauses(journalOf([tested, real]))([one], 3_600_000)
  assert.partialDeepStrictEqual(found, [{ ...one, count: 1, oldestAt: 1_000, failure }])
  assert.deepEqual(
    found[0]?.people?.map(({ messageId }) => messageId),
    ['real'],
  )
  assert.deepEqual(await createRetryCauses(journalOf([tested, tested]))([one], 3_600_000), [])
  // The other one has succeeded since it was counted.
  const left = await createRetryCauses(journalOf([tested]))([one], 3_600_000)
  assert.deepEqual(left, [{ ...one, count: 1, people: [] }])
})

test('the next attempt of a cause is not that of a test, nor one that has begun', async () => {
  const now = 3_600_000
  const one = {
    road: 'dispatch',
    gateway: 'shop',
    oldestAt: 0,
    state: 'retrying',
    count: 3,
    nextAt: now + 1,
  } as const
  const delays: Record<string, number> = { test: 1, begun: -1, real: 90 }
  const messages = Object.keys(delays).map((id) => {
    return { ...messageOf(id === 'test' ? { data: { replyTarget: { test: true } } } : {}), id }
  })
  const journal = {
    search: async () => ({ found: messages.map((message) => ({ message, outcome: 'retrying' as const })) }),
    history: async (id: string) => {
      const detail = { route: 'loyalty', error: '423 Locked', delay: delays[id] ?? 0 }
      return [{ at: now, road: 'dispatch' as const, what: 'failed', detail }]
    },
  }
  const [found] = await createRetryCauses(journal)([one], now)
  assert.equal(Object(found).nextAt, now + 90)
})

test('messages of one gateway that are tried again for several causes have an entry for each', async () => {
  const one = {
    road: 'dispatch',
    gateway: 'shop',
    oldestAt: 0,
    state: 'retrying',
    count: 3,
    nextAt: 9,
  } as const
  const failed: Record<string, { route: string; error: string; delay: number }> = {
    a: { route: 'loyalty', error: 'customer 12 is being merged', delay: 1_000 },
    b: { route: 'orders', error: 'SKU undefined', delay: 5_000 },
    c: { route: 'loyalty', error: 'customer 14 is being merged', delay: 500 },
  }
  const messages = Object.keys(failed).map((id, index) => ({
    ...messageOf({}),
    id,
    receivedAt: 300 - 100 * index,
  }))
  let reads = 0
  const journal = {
    search: async () => ({ found: messages.map((message) => ({ message, outcome: 'retrying' as const })) }),
    history: async (id: string) => {
      reads++
      return [{ at: 1_000, road: 'dispatch' as const, what: 'failed', detail: { ...failed[id] } }]
    },
  }
  const withCauses = createRetryCauses(journal)
  const found = await withCauses([one], 3_600_000)
  assert.partialDeepStrictEqual(found, [
    {
      ...one,
      count: 2,
      oldestAt: 100,
      nextAt: 1_500,
      failure: { messageId: 'a', route: 'loyalty', error: 'customer 12 is being merged' },
    },
    {
      ...one,
      count: 1,
      oldestAt: 200,
      nextAt: 6_000,
      failure: { messageId: 'b', route: 'orders', error: 'SKU undefined' },
    },
  ])
  // The list is read often: histories are cached for some seconds.
  await withCauses([one], 3_601_000)
  assert.equal(reads, 3)
})
