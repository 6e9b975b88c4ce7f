import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Jobs, Journal, Settled, Topics } from '../../../src/core/store.ts'
import { createHistogram } from '../../../src/engine/histogram.ts'
import { printers } from '../../../src/engine/print/messages.ts'
import { createSearch } from '../../../src/engine/search.ts'
import { createTopicTail } from '../../../src/engine/topic-tail.ts'
import { wholeText } from '../../../src/lib/printed.ts'
import { createLayout } from '../../../src/stores/redis/layout.ts'
import { createShardedJobs } from '../../../src/stores/redis/shards/jobs.ts'
import { createShardedJournal } from '../../../src/stores/redis/shards/journal.ts'
import { createOwned } from '../../../src/stores/redis/shards/owned.ts'
import { openStore } from '../../runtime/support/store.ts'

const SHARDS = 4
const AWAY = 2
const COUNT = 40
const ERROR = { at: 1, code: 'skill_failed', message: 'no' }

/**
 * The jobs and the journal of a store with four shards, each a real store. `setAway` makes one of them unreachable.
 */
async function openShards(t: TestContext) {
  let isAway = false
  const refuse = () =>
    Promise.reject(new TriviumError('store_unavailable', { store: 'redis', reason: 'it hangs' }))
  const guard = <Part extends object>(part: Part): Part =>
    new Proxy(part, {
      get: (target, name) => {
        const method = Reflect.get(target, name)
        return isAway && typeof method === 'function' ? refuse : method
      },
    })
  const shards: { jobs: Jobs; journal: Journal }[] = []
  for (let shard = 0; shard < SHARDS; shard++) {
    const { jobs, journal } = await openStore(t)
    const guarded = {
      jobs: guard({ ...jobs, deadLetters: guard(jobs.deadLetters) }),
      journal: guard(journal),
    }
    shards.push(shard === AWAY ? guarded : { jobs, journal })
  }
  const owners = { own: new Set<number>(), begin: async () => {}, stop: async () => {} }
  const owned = createOwned(SHARDS, owners, () => () => {})
  const layout = createLayout(SHARDS)
  const jobs = createShardedJobs(shards as never, layout, owned, Date.now)
  const journal = createShardedJournal(shards as never, layout, owned)
  const setAway = (value: boolean) => {
    isAway = value
  }
  return { jobs, journal, shards, setAway }
}

/** Adds jobs, claims each once, and ends the claims with this outcome. */
async function addWith(jobs: Jobs, queue: string, outcome: Record<string, unknown>): Promise<void> {
  await jobs.add(
    queue,
    Array.from({ length: COUNT }, (_, n) => ({
      id: `${queue}-${n}`,
      lane: `lane-${n}`,
      group: 'g',
      data: {},
    })),
  )
  const { items } = await jobs.claim(queue, { max: COUNT, lease: 60_000 })
  assert.equal(items.length, COUNT)
  await jobs.settle(
    queue,
    items.map(({ id, token }) => ({ id, token, ...outcome }) as Settled),
  )
}

/** Adds a message to each shard, `text` being its number. Returns their ids. */
async function addMessages(shards: readonly { journal: Journal }[]): Promise<string[]> {
  const messages = shards.map(async ({ journal }, shard) => {
    const message = { gateway: 'hooks', transport: 'webhook', from: { id: 'a' }, text: `${shard}`, data: {} }
    const [accepted] = await journal.accept([message])
    assert.ok(accepted && 'id' in accepted)
    return accepted.id
  })
  return Promise.all(messages)
}

describe('the journal while a shard is away', () => {
  test('a partial search and count answer for the other shards, and complete ones are refused', async (t) => {
    const { journal, shards, setAway } = await openShards(t)
    await addMessages(shards)
    setAway(true)
    const width = 86_400_000
    await assert.rejects(journal.search({ limit: 10 }), { code: 'store_unavailable' })
    await assert.rejects(journal.countByTime({}, width), { code: 'store_unavailable' })
    const page = await journal.search({ limit: 10, isPartial: true })
    assert.deepEqual(page.found.map(({ message }) => message.text).toSorted(), ['0', '1', '3'])
    assert.deepEqual(page.away, [AWAY])
    const counted = await journal.countByTime({ isPartial: true }, width)
    assert.equal(
      counted.counts.reduce((sum, { count }) => sum + count, 0),
      SHARDS - 1,
    )
    assert.deepEqual(counted.away, [AWAY])
    setAway(false)
    assert.equal((await journal.search({ limit: 10, isPartial: true })).away, undefined)
  })

  test('lists of messages name the missing shard', async (t) => {
    const { journal, shards, setAway } = await openShards(t)
    await addMessages(shards)
    setAway(true)
    const caller = { caller: { kind: 'operator' } } as never
    const { search } = createSearch({ journal })
    const { messages, away } = Object(await search({ limit: 10 }, caller))
    assert.deepEqual([messages.length, away], [SHARDS - 1, [AWAY]])
    const shown = printers['message-search']?.({ messages: [], away: [AWAY] }, {}) ?? ''
    assert.match(wholeText(shown), /Without shard 2: it cannot be reached/)
    const store = { journal, stats: async () => ({ journal: {} }) } as never
    const { countMessages } = createHistogram(store, Date.now)
    const counted = await countMessages({ buckets: 10, since: Date.now() - 60_000 }, caller)
    assert.deepEqual([counted.total, counted.away], [SHARDS - 1, [AWAY]])
  })
})

test('a topic is followed on the other shards while one is away, and there too once it is back', async (t) => {
  const shards = [(await openStore(t)).topics, (await openStore(t)).topics]
  let isAway = true
  const at = async (shard = 0) => {
    const topics = shards[shard]
    if (!topics || (isAway && shard === 1)) throw new TriviumError('store_unavailable', { store: 'redis' })
    return topics
  }
  const end: Topics['end'] = async (topic, shard) => (await at(shard)).end(topic)
  const tail: Topics['tail'] = async (topic, after, max, shard) => (await at(shard)).tail(topic, after, max)
  const topics = { partitions: () => shards.length, end, tail }
  const publish = (data: string) =>
    Promise.all(
      shards.map((shard) => shard.publish('t', [{ type: 'x', source: 's', data, rootContextId: 'r' }])),
    )
  await publish('before')
  const readNext = await createTopicTail({ topics, journal: {} } as never)({ topic: 't', max: 10 })
  await publish('meanwhile')
  assert.deepEqual(
    (await readNext()).value?.map(({ data }) => data),
    ['meanwhile'],
  )
  isAway = false
  await readNext()
  await publish('after')
  const values = (await readNext()).value?.map(({ data }) => data)
  assert.equal(values?.filter((data) => data === 'after').length, 2)
})

describe('jobs while a shard is away', () => {
  test('dead letters of the other shards are listed and retried, and a complete list is refused', async (t) => {
    const { jobs, setAway } = await openShards(t)
    const { deadLetters } = jobs
    await addWith(jobs, 'q', { outcome: 'dead', reason: 'attempts', error: ERROR })
    setAway(true)
    await assert.rejects(deadLetters.list({ limit: 100 }), { code: 'store_unavailable' })
    const { items, away } = await deadLetters.list({ limit: 100, isPartial: true })
    assert.deepEqual(away, [AWAY])
    assert.ok(items.length > 0 && items.length < COUNT, `${items.length} letters`)
    for (const { id } of items) {
      assert.equal((await deadLetters.get(id))?.id, id)
      assert.equal(await deadLetters.retry(id), true)
    }
    await assert.rejects(deadLetters.get('unknown'), { code: 'store_unavailable' })
    setAway(false)
    const rest = await deadLetters.list({ limit: 100, isPartial: true })
    assert.deepEqual([rest.items.length, rest.away], [COUNT - items.length, undefined])
    assert.equal(await deadLetters.get('unknown'), undefined)
  })

  test('held jobs of the other shards are listed and released', async (t) => {
    const { jobs, setAway } = await openShards(t)
    await addWith(jobs, 'q', { outcome: 'hold' })
    setAway(true)
    const { items, away } = await jobs.held('q', '', 100)
    assert.deepEqual(away, [AWAY])
    const ids = Array.from({ length: COUNT }, (_, n) => `q-${n}`)
    assert.equal(await jobs.unhold('q', ids), items.length)
    setAway(false)
    assert.equal((await jobs.held('q', '', 100)).items.length, COUNT - items.length)
  })

  test('waiting jobs of the other shards are hastened, unless one by id may be on that shard', async (t) => {
    const { jobs, setAway } = await openShards(t)
    await addWith(jobs, 'q', { outcome: 'retry', delay: 600_000, error: ERROR })
    setAway(true)
    assert.ok(((await jobs.nextDue('q')) ?? 0) > Date.now())
    await assert.rejects(jobs.hasten('q', ['unknown']), { code: 'store_unavailable' })
    const count = await jobs.hasten('q')
    assert.ok(count > 0 && count < COUNT, `${count} jobs`)
    setAway(false)
    assert.equal(await jobs.hasten('q'), COUNT - count)
  })
})
