import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { DAY, HOUR } from '../../src/core/units.ts'
import { createCost } from '../../src/features/usage/cost.ts'
import { createCostLedger } from '../../src/features/usage/cost-ledger.ts'
import { createRunLogs } from '../../src/features/usage/run-log.ts'
import { createRunningRuns } from '../../src/features/usage/running-runs.ts'
import { createSkillUsage } from '../../src/features/usage/skill-usage.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

async function make(t: TestContext) {
  const clock = { time: Date.UTC(2026, 0, 1, 12) }
  const now = () => clock.time
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent, now })
  t.after(() => store.close())
  const ledger = createCostLedger({ kv: store.kv, now })
  /** Number of writes of runs until one fails. */
  const failing = { after: Infinity }
  const set: typeof store.kv.set = async (...args) => {
    if (failing.after-- === 0)
      throw new TriviumError('store_unavailable', { store: 'embedded', reason: 'no' })
    return store.kv.set(...args)
  }
  const runs = createRunLogs({ kv: { ...store.kv, set }, now })
  const cost = createCost({ ledger, currency: () => undefined, budgets: async () => [], now })
  const skillUsage = createSkillUsage({
    runs,
    running: createRunningRuns(),
    cost,
    requireSkill: () => undefined,
    now,
  })
  return { clock, ledger, runs, cost, skillUsage, failing }
}

test('the cost of the last month is complete after a year of use', async (t) => {
  const { clock, ledger, cost } = await make(t)
  const step = { model: 'm', skill: 's', sender: 'ada', inputTokens: 1, outputTokens: 1 }
  const added: Promise<void>[] = []
  for (let day = 0; day < 365; day += 1) {
    added.push(ledger.add(step))
    clock.time += DAY
  }
  await Promise.all(added)
  const { total } = await cost({ by: 'model', since: clock.time - 30 * DAY })
  assert.equal(total.steps, 30)
})

test('the runs of a skill are counted even if JavaScript objects have a property of its name', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const since = clock.time - HOUR
  for (const count of [1, 2]) {
    runs.add('constructor', { at: clock.time, ms: 5, by: 'cli' })
    const [one, all] = [
      await skillUsage({ name: 'constructor', since, limit: 30 }, callFrom()),
      await skillUsage({ since, limit: 30 }, callFrom()),
    ]
    assert.equal(Object(one).runs, count)
    assert.equal(Object(all)[0].runs, count)
  }
  assert.equal(Object(await skillUsage({ name: 'valueof', since, limit: 30 }, callFrom())).runs, 0)
})

test('runs that could not be stored are stored by the next flush, each once', async (t) => {
  const { clock, runs, skillUsage, failing } = await make(t)
  const since = clock.time - HOUR
  // Two skills, each with a log and failures, and one slot.
  const writes = 5
  for (let failed = 0; failed < writes; failed++) {
    const at = clock.time
    for (const skill of ['orders', 'refunds']) runs.add(skill, { at, ms: 5, by: 'cli', code: 'skill_failed' })
    failing.after = failed
    await assert.rejects(runs.flush(), { code: 'store_unavailable' })
    clock.time += 1
  }
  for (const name of ['orders', 'refunds']) {
    const days = Object(await skillUsage({ name, since: since - 30 * HOUR, limit: 30 }, callFrom()))
    const hour = Object(await skillUsage({ name, since, limit: 30 }, callFrom()))
    const { runs: all, failed } = hour
    assert.deepEqual([days.runs, all, failed, hour.recent.length], [writes, writes, writes, writes])
    assert.equal((await runs.failures(name)).length, writes)
  }
})

test('failed runs are found among any number of others, and cancelled ones are not failed', async (t) => {
  const { clock, runs, skillUsage } = await make(t)
  const failed = { ms: 5, by: 'route orders', code: 'skill_failed' }
  for (let order = 5000; order < 5040; order += 1)
    runs.add('book', {
      at: clock.time++,
      ...failed,
      error: `order ${order}: no such SKU 12`,
      messageId: `m${order}`,
    })
  runs.add('book', { at: clock.time++, ...failed, error: 'customs answered 502' })
  runs.add('book', { at: clock.time++, ms: 9, by: 'cli', code: 'run_cancelled', error: 'Cancelled by Sven' })
  for (let at = 0; at < 300; at += 1) runs.add('book', { at: clock.time++, ms: 5, by: 'route orders' })
  const ask = async (more: object) =>
    Object(await skillUsage({ name: 'book', limit: 30, ...more }, callFrom()))
  const all = await ask({})
  assert.deepEqual([all.runs, all.failed, all.cancelled, all.recent.length, all.more], [342, 41, 1, 30, true])
  assert.deepEqual(
    all.errors.map(({ count, error, messageId }: Record<string, unknown>) => [count, error, messageId]),
    [
      [40, 'order …: no such SKU 12', 'm5039'],
      [1, 'customs answered 502', undefined],
    ],
  )
  const failures = await ask({ outcome: 'failed', limit: 200 })
  assert.deepEqual([failures.recent.length, failures.more], [41, false])
  const cancelled = await ask({ outcome: 'cancelled' })
  assert.deepEqual(
    cancelled.recent.map(({ by }: { by: string }) => by),
    ['cli'],
  )
})
