import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHousekeeping } from '../../src/daemon/housekeeping.ts'
import { silent } from '../contract/store/kit.ts'

const HISTORY_INTERVAL = 10

test('retention continues while there is more to remove, and then pauses, whatever it removed', async () => {
  let trims = 0
  let samples = 0
  const { promise: isSampled, resolve } = Promise.withResolvers<void>()
  const sample = async () => {
    samples++
    if (samples === 10) resolve()
  }
  const housekeeping = createHousekeeping({
    store: {
      trim: async () => ({ removed: 1, more: ++trims < 3 }),
      stats: () => Promise.reject(new Error('it has no backlog')),
    },
    retention: () => ({ journal: { maxAge: 1, maxCount: 1 } }),
    history: { sample, every: HISTORY_INTERVAL },
    groupHistory: { sample: async () => {}, every: HISTORY_INTERVAL },
    accept: { setBacklog() {} },
    approvals: { sweep: async () => {} },
    runtime: { sweep: async () => {} },
    log: silent,
  })
  housekeeping.start()
  await isSampled
  await housekeeping.stop()
  assert.equal(trims, 3)
})
