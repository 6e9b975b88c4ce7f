import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY, HOUR, MINUTE } from '../../src/core/units.ts'
import { createDurationSample } from '../../src/features/push/duration-sample.ts'
import { createTraffic, type Traffic } from '../../src/features/push/traffic.ts'
import { trafficIn } from '../../src/features/push/traffic-range.ts'
import { callOf } from '../engine/kit.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, startPush, subscription } from './push-kit.ts'
import { startReceiver } from './push-receiver.ts'

const START = Date.parse('2026-11-29T12:00:00Z')
const OK = { status: 200, answer: '' }
const FULL = { status: 503, reason: 'it answered 503', answer: 'disk 7 is full' }
const REFUSED = { reason: 'connect ECONNREFUSED' }

/** Counts in memory. `stored()`: what was written last. */
async function countInMemory() {
  const written: Traffic[] = []
  const records = {
    traffic: async (from: number): Promise<Traffic> =>
      structuredClone(written.at(-1)) ?? { from, causes: {}, minutes: [], quarters: [] },
    setTraffic: async (traffic: Traffic) => void written.push(structuredClone(traffic)),
  }
  const open = () => createTraffic({ records, timeout: 15_000, failed: assert.fail, now: () => START })
  const stored = () => {
    const last = written.at(-1)
    assert.ok(last)
    return last
  }
  return { open, stored }
}

test('attempts are counted by minute and outcome, with their causes and durations', async () => {
  const { open, stored } = await countInMemory()
  const traffic = await open()
  for (let n = 0; n < 20; n++) traffic.count({ at: START + n, ms: 100, answer: n % 2 ? OK : FULL })
  traffic.count({ at: START + 2 * MINUTE, ms: 1, answer: REFUSED })
  await traffic.write()
  // Continues after a restart.
  const again = await open()
  again.count({ at: START + 2 * MINUTE + 1, ms: 16_000, answer: { reason: 'no answer within 15000 ms' } })
  again.count({ at: START + 2 * MINUTE + 2, ms: 10, answer: { ...FULL, answer: 'disk 9 is full' } })
  await again.write()
  const shown = trafficIn(stored(), START - MINUTE, START + 3 * MINUTE)
  assert.deepEqual([shown.every, shown.delivered, shown.failed], [MINUTE, 10, 13])
  assert.deepEqual(
    shown.points.map(({ at, delivered, failed }) => [(at - START) / MINUTE, delivered, failed]),
    [
      [0, 10, 10],
      [1, 0, 0],
      [2, 0, 3],
    ],
  )
  const [first, empty, last] = shown.points
  assert.deepEqual([first?.p50, first?.p95], [100, 100])
  assert.equal(empty?.p50, undefined)
  // A refused connection is not a fast answer, but a timeout is a slow one.
  assert.ok(Number(last?.p95) >= 10_000)
  assert.deepEqual(
    shown.causes.map(({ text, count }) => [text, count]),
    [
      ['it answered 503: disk 9 is full', 11],
      ['connect ECONNREFUSED', 1],
      ['no answer within 15000 ms', 1],
    ],
  )
})

test('percentiles are those of all durations, of which a sample is kept', () => {
  const sample = createDurationSample()
  assert.equal(sample.quantile(0.5), undefined)
  for (let ms = 1; ms <= 100; ms++) sample.add(ms)
  assert.deepEqual([sample.quantile(0.5), sample.quantile(0.95)], [50, 95])
  for (let n = 0; n < 100_000; n++) sample.add(1_000 + (n % 100))
  const median = Number(sample.quantile(0.5))
  assert.ok(median > 1_025 && median < 1_075, String(median))
})

test('long ranges have quarters of an hour, and what is kept is bounded', async () => {
  const { open, stored } = await countInMemory()
  const traffic = await open()
  const causes = 'abcdefghijklmnopqrstuvwxyz'.split('')
  for (let at = START; at < START + 10 * DAY; at += 5 * MINUTE)
    traffic.count({ at, ms: 5, answer: { reason: `cause ${causes[(at / MINUTE) % 26]}` } })
  await traffic.write()
  const { minutes, quarters } = stored()
  assert.deepEqual([minutes.length, quarters.length, Object.keys(stored().causes).length], [360, 672, 20])
  const end = START + 10 * DAY
  const week = trafficIn(stored(), end - 7 * DAY, end)
  assert.deepEqual([week.every, week.failed, week.points.length], [15 * MINUTE, 7 * 24 * 12, 672])
  assert.ok(week.causes.some(({ text }) => text === 'other causes'))
  const hour = trafficIn(stored(), end - HOUR, end)
  assert.deepEqual([hour.every, hour.failed], [MINUTE, 12])
})

test('causes have no addresses and no ids of messages', async () => {
  const { open, stored } = await countInMemory()
  const traffic = await open()
  for (const [ms, who] of [
    'ada@example.com',
    '+31 20 555 01 02',
    '019a0000-0000-7000-8000-000000000001',
  ].entries())
    traffic.count({ at: START, ms, answer: { ...FULL, answer: `no customer ${who}` } })
  await traffic.write()
  const { causes, failed } = trafficIn(stored(), START, START + MINUTE)
  assert.deepEqual(causes, [{ text: 'it answered 503: no customer …', count: 3, lastAt: START }])
  assert.equal(failed, 3)
})

test('a range has no points of the future, and says since when it is complete', async (t) => {
  const { open, stored } = await countInMemory()
  const traffic = await open()
  for (let at = START; at < START + 10 * DAY; at += 5 * MINUTE) traffic.count({ at, ms: 5, answer: OK })
  await traffic.write()
  const end = START + 10 * DAY
  const all = trafficIn(stored(), START, end)
  assert.deepEqual([all.knownSince, all.points.length], [end - 7 * DAY, 672])
  const store = await openStore(t)
  const { service } = await startPush(t, store, [subscription('http://127.0.0.1:9/')])
  const range = { since: Date.now() - HOUR, until: Date.now() + 100 * 365 * DAY }
  const call = callOf({ caller: { kind: 'cli' } })
  const shown = Object(await service.show({ name: 'crm', limit: 50, ...range }, call))
  assert.ok(shown.traffic.points.length <= 2, String(shown.traffic.points.length))
})

test('subscription-show has the attempts of a time, and those of the last hour otherwise', async (t) => {
  const store = await openStore(t)
  const { url, wait } = await startReceiver(t, (response, _, count) =>
    response.writeHead(count % 2 ? 503 : 200).end('disk full'),
  )
  const { service, show } = await startPush(t, store, [subscription(url)])
  await emit(store, { n: 1 })
  await wait(2)
  const { traffic } = await until(async () => {
    const shown = await show()
    return shown.traffic.delivered === 1 ? shown : undefined
  }, 'the numbers')
  assert.deepEqual([traffic.failed, traffic.causes[0].text], [1, 'it answered 503: disk full'])
  const call = callOf({ caller: { kind: 'cli' } })
  const before = { since: Date.now() - DAY, until: Date.now() - HOUR }
  const earlier = Object(await service.show({ name: 'crm', limit: 50, ...before }, call))
  assert.deepEqual([earlier.attempts, earlier.traffic.failed], [[], 0])
  const since = Object(await service.show({ name: 'crm', limit: 50, since: Date.now() - HOUR }, call))
  assert.equal(since.attempts.length, 2)
})
