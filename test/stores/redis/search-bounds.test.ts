import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeOf } from '../../../src/core/message-id.ts'
import type { Store } from '../../../src/core/store.ts'
import { createHistogram } from '../../../src/engine/histogram.ts'
import { saying } from '../../contract/store/kit.ts'
import { callOf } from '../../engine/kit.ts'
import { redisOf } from './kit.ts'

const MESSAGES = 20_000
const BATCH = 1_000
/** Number of entries that a search reads with one command. */
const SLICE = 200

/** The texts of the messages with the end of an id. On a busy machine, a search has several pages. */
async function textsOf({ journal }: Pick<Store, 'journal'>, one: { id: string } | undefined) {
  const texts: string[] = []
  let before: string | undefined
  do {
    const { found, next } = await journal.search({ id: one?.id.slice(-12), before, limit: 10 })
    texts.push(...found.map(({ message }) => message.text))
    before = next
  } while (before !== undefined)
  return texts
}

test('a search with `until` reads nothing newer, and a histogram reads each entry about once', {
  timeout: 300_000,
}, async (t) => {
  const redis = await redisOf(t)
  const store = await redis.open()
  const client = redis.client()
  const ids: string[] = []
  for (let accepted = 0; accepted < MESSAGES; accepted += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, index) => saying(index % 100 === 0 ? 'a needle' : 'hay'))
    ids.push(...(await store.journal.accept(batch)).map(({ id }) => id))
  }
  /** Number of commands so far that read the journal backwards. */
  const reads = async () =>
    Number(/cmdstat_xrevrange:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)

  const until = timeOf(ids[2 * BATCH] ?? '')
  const beforeSearch = await reads()
  const { found } = await store.journal.search({ until, limit: 10 })
  const ofSearch = (await reads()) - beforeSearch
  assert.equal(found.length, 10)
  assert.ok(found.every(({ message }) => timeOf(message.id) < until))
  assert.ok(ofSearch <= 3, `${ofSearch} reads`)

  const { histogram } = createHistogram(store, Date.now)
  const beforeHistogram = await reads()
  let total = 0
  let calls = 0
  let end: number | undefined = Date.now() + 1
  while (end !== undefined) {
    const args = { buckets: 60, search: { words: ['needle'] }, until: end }
    const counted: { total: number; countedTo?: number } = Object(await histogram(args, callOf()))
    total += counted.total
    end = counted.countedTo
    calls++
  }
  assert.equal(total, MESSAGES / 100)
  const ofHistogram = (await reads()) - beforeHistogram
  // Twice the number of slices is allowed. In addition, each call reads the newest entry, and
  // repeats the span at which the previous call stopped: up to 3 commands.
  assert.ok(ofHistogram <= 2 * (MESSAGES / SLICE) + 3 * calls, `${ofHistogram} reads in ${calls} calls`)
})

test('a search for an id transfers no other messages', { timeout: 300_000 }, async (t) => {
  const redis = await redisOf(t)
  const store = await redis.open()
  const client = redis.client()
  const long = 'x'.repeat(4_000)
  const [first] = await store.journal.accept([saying('the first')])
  await store.journal.accept(Array.from({ length: 2_500 }, () => saying(long)))
  const sent = async () => Number(/total_net_output_bytes:(\d+)/.exec(await client.info('stats'))?.[1])
  const before = await sent()
  assert.deepEqual(await textsOf(store, first), ['the first'])
  const bytes = (await sent()) - before
  assert.ok(bytes < 2_500 * 200, `${bytes} bytes`)
})

test('a search for an id reads large messages in parts, so that other commands need not wait', {
  timeout: 300_000,
}, async (t) => {
  const redis = await redisOf(t)
  const store = await redis.open()
  const client = redis.client()
  const [first] = await store.journal.accept([saying('the first')])
  const large = 'x'.repeat(500_000)
  for (let n = 0; n < 40; n++) await store.journal.accept([saying(large)])
  const scripts = async () =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  const before = await scripts()
  assert.deepEqual(await textsOf(store, first), ['the first'])
  // 20 MB, of which a script reads at most 4 MB and the 16 entries with which it stops.
  const parts = (await scripts()) - before
  assert.ok(parts >= 3, `${parts} scripts`)
})
