import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeOf } from '../../../src/core/message-id.ts'
import { createHistogram } from '../../../src/engine/histogram.ts'
import { saying } from '../../contract/store/kit.ts'
import { callOf } from '../../engine/kit.ts'
import { redisOf } from './kit.ts'

const [MANY, BATCH] = [20_000, 1_000]
/** Entries that one command of a search reads. */
const SLICE = 200

test('a search before a time reads nothing newer, and all steps of a histogram read each entry about once', {
  timeout: 120_000,
}, async (t) => {
  const redis = await redisOf(t)
  const store = await redis.open()
  const client = redis.client()
  const ids: string[] = []
  for (let at = 0; at < MANY; at += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => saying(index % 100 === 0 ? 'a needle' : 'hay'))
    ids.push(...(await store.journal.accept(batch)).map(({ id }) => id))
  }
  /** How often parts of the journal were read so far. */
  const reads = async () =>
    Number(/cmdstat_xrevrange:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)

  const until = timeOf(ids[2 * BATCH] ?? '')
  const before = await reads()
  const { found } = await store.journal.search({ until, limit: 10 })
  const spent = (await reads()) - before
  assert.equal(found.length, 10)
  assert.ok(found.every(({ message }) => timeOf(message.id) < until))
  assert.ok(spent <= 3, `${spent} reads`)

  const { histogram } = createHistogram(store, Date.now)
  const start = await reads()
  let [sum, calls] = [0, 0]
  let end: number | undefined = Date.now() + 1
  while (end !== undefined) {
    const args = { buckets: 60, search: { words: ['needle'] }, until: end }
    const counted: { total: number; countedTo?: number } = Object(await histogram(args, callOf()))
    sum += counted.total
    end = counted.countedTo
    calls++
  }
  assert.equal(sum, MANY / 100)
  const all = (await reads()) - start
  // A call reads the last entry once, and the span in which another call stopped again.
  assert.ok(all <= 2 * (MANY / SLICE) + 3 * calls, `${all} reads in ${calls} calls`)
})
