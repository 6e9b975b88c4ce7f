import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGroupTimes } from '../../src/api/group-times.ts'
import { HOUR, MINUTE } from '../../src/core/units.ts'
import { createGroupActivity } from '../../src/engine/group-activity.ts'
import { createGroupLastReads } from '../../src/engine/group-last-reads.ts'
import { withBacklogs } from '../../src/features/push/group-states.ts'
import { roadTroubles } from '../../src/features/troubles/road-troubles.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit } from './push-kit.ts'

const STATS = {
  journal: { messages: 0 },
  receive: { ready: 0, leased: 0, lost: {} },
  dispatch: { unpumped: 0 },
  jobs: [],
}
const NONE = {
  waiting: [],
  budgets: [],
  approvals: [],
  schedules: [],
  pulls: [],
  causes: [],
  subscriptions: [],
}

test('a group that lost its reader is a trouble once events wait longer than usual, and for an hour', async (t) => {
  const store = await openStore(t)
  const started = Date.now()
  let now = started
  const lastReads = createGroupLastReads({ kv: store.kv, log: createMemoryLog(), now: () => now })
  const activity = createGroupActivity(() => now, lastReads.note)
  const withTimes = createGroupTimes({ topics: store.topics, lastReads, now: () => now })
  const troubles = async () => {
    const groups = await withTimes(withBacklogs(await store.topics.groups(), []), [])
    return roadTroubles({ ...NONE, stats: STATS, groups }, { running: [], unrouted: [], pauses: [] }, now)
  }
  for (const group of ['index', 'nightly', 'new']) await store.topics.subscribe('orders', group, 'now')
  const read = async (group: string) => {
    const [batch] = await store.topics.read('orders', [{ group, max: 1, mode: 'consume' }])
    const request = { topic: 'orders', group, by: 'cli ada@desk', ack: true }
    await activity.note(Promise.resolve(batch?.items ?? []), request)
    await until(async () => (await lastReads.of('orders', group))?.at === now, 'the stored read')
  }
  for (let n = 0; n < 3; n++) await emit(store)
  await read('index')
  now = started + 20 * HOUR
  await read('index')
  // Its events usually wait for most of a day.
  await read('nightly')
  assert.deepEqual(await troubles(), [], 'they have been read just now, or have had no reader yet')
  now += HOUR - MINUTE
  assert.deepEqual(await troubles(), [])
  now += MINUTE
  const [index, ...others] = await troubles()
  assert.deepEqual(others, [])
  assert.partialDeepStrictEqual(index, {
    code: 'group-stalled',
    severity: 'warning',
    title: 'Group index has no reader',
    count: 1,
    where: { topic: 'orders', group: 'index' },
  })
  assert.match(
    String(index?.text),
    /^1 event waits in orders\. No reader since \d{4}-\d\d-\d\d \d\d:\d\d UTC\. The last one was ada@desk\.$/,
  )
  assert.ok(Number(index?.since) < now - 20 * HOUR + MINUTE)
  now += 40 * HOUR
  const titles = async () => (await troubles()).map(({ title }) => title)
  assert.deepEqual((await titles()).sort(), ['Group index has no reader', 'Group nightly has no reader'])
  await emit(store)
  await read('index')
  assert.deepEqual(await titles(), ['Group nightly has no reader'])
})
