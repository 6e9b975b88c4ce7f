import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createHousekeeping, pauseAfter } from '../../src/daemon/housekeeping.ts'
import { silent } from '../contract/store/kit.ts'

const HISTORY_INTERVAL = 10
/** Ms that a batch of retention takes. */
const BATCH_TIME = 30

test('retention continues after a pause while there is more to remove, whatever it removed', async () => {
  let trims = 0
  let samples = 0
  let lastEnd = 0
  const pauses: number[] = []
  const { promise: lastSample, resolve } = Promise.withResolvers<void>()
  const sample = async () => {
    samples++
    if (trims === 3 && samples >= 10) resolve()
  }
  const housekeeping = createHousekeeping({
    store: {
      trim: async () => {
        const began = performance.now()
        if (lastEnd > 0) pauses.push(began - lastEnd)
        await pause(BATCH_TIME)
        lastEnd = performance.now()
        return { removed: 1, more: ++trims < 3 }
      },
      stats: () => Promise.reject(new Error('it has no backlog')),
    },
    retention: () => ({ journal: { maxAge: 1, maxCount: 1 } }),
    history: { sample, every: HISTORY_INTERVAL },
    groupHistory: { sample: async () => {}, every: HISTORY_INTERVAL },
    refusalHistory: { flush: async () => {} },
    accept: { setBacklog() {} },
    storePause: { since: () => undefined },
    approvals: { sweep: async () => {} },
    runtime: { sweep: async () => {} },
    log: silent,
  })
  housekeeping.start()
  await lastSample
  await housekeeping.stop()
  assert.equal(trims, 3)
  assert.ok(Math.min(...pauses) >= BATCH_TIME - 2, `pauses of ${pauses} ms`)
})

test('while the whole store is paused, the messages that wait are no backlog', async () => {
  const backlogs: number[] = []
  const { promise: read, resolve } = Promise.withResolvers<void>()
  const unused = async () => {}
  const housekeeping = createHousekeeping({
    store: {
      trim: async () => ({ removed: 0, more: false }),
      stats: async () => ({
        journal: { messages: 2_000_000 },
        receive: { ready: 0, leased: 0, lost: {} },
        dispatch: { unpumped: 2_000_000 },
        jobs: [],
      }),
    },
    retention: () => ({ journal: { maxAge: 1, maxCount: 1 } }),
    history: { sample: unused, every: HISTORY_INTERVAL },
    groupHistory: { sample: unused, every: HISTORY_INTERVAL },
    refusalHistory: { flush: unused },
    accept: {
      setBacklog(count) {
        if (backlogs.push(count) === 2) resolve()
      },
    },
    storePause: { since: () => (backlogs.length === 0 ? 1 : undefined) },
    approvals: { sweep: unused },
    runtime: { sweep: unused },
    log: silent,
  })
  housekeeping.start()
  await read
  await housekeeping.stop()
  assert.deepEqual(backlogs, [0, 2_000_000])
})

test('the pauses of retention take half of the time at first, and less the longer a backlog lasts', () => {
  const pauses = [0, 1, 4, 19].map((minutes) => pauseAfter(40, minutes * 60_000))
  assert.deepEqual(pauses, [40, 20, 8, 2])
})
