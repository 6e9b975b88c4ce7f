import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLetterCauses } from '../../src/api/letter-causes.ts'
import { createStoredReadings } from '../../src/api/stored-readings.ts'
import type { BudgetStatus } from '../../src/core/budget.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { redisOf } from '../stores/redis/kit.ts'

test('a feature that fails does not hide the troubles of others, and is logged once', async (t) => {
  const { open, server } = await redisOf(t)
  const store = await open()
  const log = createMemoryLog()
  const job = { id: 'j', lane: 'l', group: 'g', data: {} }
  await store.jobs.add('q', [job])
  let budgets = async (): Promise<BudgetStatus[]> => {
    throw new TypeError('a budget without a period')
  }
  const read = createStoredReadings({
    store,
    log,
    readCauses: createLetterCauses(store.jobs.deadLetters, Date.now),
    approvals: { list: async () => [] },
    pulls: async () => [],
    subscriptions: async () => [],
    budgets: () => budgets(),
    conversations: async () => ({ conversations: [] }),
    draining: () => false,
    now: Date.now,
  })
  const logged = () => log.lines.map(({ level, fields }) => [level, Object(fields).reading])

  for (let reading = 0; reading < 3; reading++) {
    const stored = await read()
    assert.equal(stored?.stats.jobs[0]?.waiting, 1)
    assert.deepEqual(stored?.budgets, [])
  }
  assert.deepEqual(logged(), [['error', 'budgets']])

  // After a success, the next failure is logged again.
  const failing = budgets
  budgets = async () => []
  await read()
  budgets = failing
  await read()
  assert.equal(logged().length, 2)

  // A store that is away is reported by its ping.
  await server.stop()
  assert.equal(await read(), undefined)
  assert.equal(logged().length, 2)
})
