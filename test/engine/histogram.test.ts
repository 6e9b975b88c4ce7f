import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createHistogram } from '../../src/engine/histogram.ts'
import { saying } from '../contract/store/kit.ts'
import { openStore, temporaryDir } from '../stores/embedded/kit.ts'
import { callOf } from './kit.ts'

const MESSAGES = 100_000
/** Messages per hour of the test's clock. */
const BATCH = 2_000

test('counts 100,000 messages in bounded steps, each once, with any filter', {
  timeout: 300_000,
}, async (t) => {
  let time = Date.parse('2026-11-21T00:00:00Z')
  const store = await openStore(temporaryDir(t), () => time)
  t.after(() => store.close())
  for (let accepted = 0; accepted < MESSAGES; accepted += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) =>
      saying(index % 100 === 0 ? `needle ${index}` : `hay ${index}`, {
        gateway: index % 2 === 0 ? 'shop' : 'bank',
      }),
    )
    await store.journal.accept(batch)
    time += HOUR
  }
  const { histogram } = createHistogram(store, () => time)

  /**
   * Calls the histogram until everything is counted. Returns the first result, the sum, and the
   * number of calls.
   */
  const countAll = async (filter: object) => {
    const first = Object(await histogram({ buckets: 60, ...filter }, callOf()))
    let sum = first.total
    let calls = 1
    for (let { countedTo } = first; countedTo !== undefined; calls++) {
      const next = Object(await histogram({ buckets: 60, ...filter, until: countedTo }, callOf()))
      sum += next.total
      countedTo = next.countedTo
      assert.ok(calls < 50, `${calls} calls`)
    }
    return { ...first, sum, calls }
  }

  const all = await countAll({})
  t.diagnostic(`all: ${all.calls} calls`)
  assert.equal(all.sum, MESSAGES)
  assert.equal(all.width, HOUR)
  // The last span has no message if it begins at the present time.
  assert.equal(all.counts.at(-1), all.counts.length > MESSAGES / BATCH ? 0 : BATCH)
  assert.ok(all.counts.every((count: number) => count === BATCH || count === 0))
  assert.equal((await countAll({ gateway: 'shop' })).sum, MESSAGES / 2)
  assert.equal((await countAll({ outcome: ['waiting'] })).sum, MESSAGES)
  const needles = await countAll({ search: { words: ['needle'] } })
  t.diagnostic(`needles: ${needles.calls} calls`)
  assert.equal(needles.sum, MESSAGES / 100)
  const since = Date.parse('2026-11-21T10:00:00Z')
  const hour = await countAll({ since, until: since + HOUR, gateway: 'bank' })
  assert.deepEqual([hour.from, hour.sum, hour.width], [since, BATCH / 2, MINUTE])
})

test('does not reveal to a caller when messages of other gateways arrived', async (t) => {
  let time = Date.parse('2026-11-01T00:00:00Z')
  const store = await openStore(temporaryDir(t), () => time)
  t.after(() => store.close())
  const { histogram } = createHistogram(store, () => time)
  const fromFor = async (gateways?: string[]) =>
    Object(
      await histogram({ buckets: 60 }, callOf({ caller: { kind: 'http', ...(gateways && { gateways }) } })),
    ).from
  await store.journal.accept([saying('early', { gateway: 'bank' })])
  const firstAt = time
  time += 100 * HOUR
  assert.ok((await fromFor(['shop'])) > firstAt + 90 * HOUR)
  await store.journal.accept([saying('late', { gateway: 'shop' })])
  time += HOUR
  assert.ok((await fromFor(['shop'])) > firstAt + 90 * HOUR)
  assert.ok((await fromFor(['bank'])) <= firstAt)
  assert.ok((await fromFor()) <= firstAt)
})

test('counts the failed messages of each bar, by their dead letters, with the same filter', async (t) => {
  let time = Date.parse('2026-11-21T00:30:00Z')
  const store = await openStore(temporaryDir(t), () => time)
  t.after(() => store.close())
  const acceptOne = async (text: string) => {
    const [accepted] = await store.journal.accept([saying(text, { gateway: 'shop' })])
    return accepted?.id ?? ''
  }
  const dieWith = async (queue: string, messageId: string, group: string) => {
    await store.jobs.add(queue, [{ id: messageId, lane: messageId, group, messageId }])
    const { items } = await store.jobs.claim(queue, { max: 1, lease: MINUTE })
    const error = { at: time, code: 'skill_failed', message: 'no' }
    const settled = { id: messageId, outcome: 'dead', error, reason: 'permanent' } as const
    await store.jobs.settle(
      queue,
      items.map(({ token }) => ({ ...settled, token })),
    )
  }
  await dieWith('dispatch', await acceptOne('an order'), 'orders')
  await acceptOne('all is well')
  time += HOUR
  await dieWith('dispatch', await acceptOne('another order'), 'orders')
  await dieWith('outbox', await acceptOne('a question'), 'shop')
  time += 10 * MINUTE
  const { histogram } = createHistogram(store, () => time)
  const failed = async (filter: object) => {
    const found = Object(await histogram({ buckets: 2, ...filter }, callOf()))
    return [found.counts, found.failed]
  }
  assert.deepEqual(await failed({}), [
    [2, 2],
    [1, 2],
  ])
  assert.deepEqual((await failed({ search: { words: ['order'] } }))[1], [1, 1])
  assert.deepEqual((await failed({ route: 'orders' }))[1], [1, 1])
  assert.deepEqual((await failed({ outcome: ['undelivered'] }))[1]?.at(-1), 1)
  assert.deepEqual((await failed({ outcome: ['done'] }))[1]?.at(-1), 0)
  assert.equal((await failed({ width: HOUR }))[1], undefined)
})
