import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPauseRecords } from '../../src/features/pauses/records.ts'
import { createStoredSubscriptions } from '../../src/features/push/stored-subscriptions.ts'
import { createSchedulePauses } from '../../src/features/schedules/schedule-pauses.ts'
import { createCostLedger } from '../../src/features/usage/cost-ledger.ts'
import { createRunLogs } from '../../src/features/usage/run-log.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'

const openKv = () => createMemoryBackend(Date.now, new Map<string, StateEntry>())

/** During a rolling update, daemons of two versions change the same values. */
describe('an older daemon does not remove what a newer one has stored:', () => {
  test('push subscriptions, and settings of a subscription', async () => {
    const kv = openKv()
    const stored = createStoredSubscriptions(kv)
    const shop = { given: { url: 'https://shop.example/' }, by: 'ada', at: 1 }
    const newer = { given: [], by: 'ada', at: 'monday' }
    await kv.set('trivium:push-made', { shop: { ...shop, pausedAt: 7 }, newer })
    await stored.change((all, isUnknown) => {
      assert.deepEqual([isUnknown('newer'), isUnknown('shop')], [true, false])
      return { ...all, crm: { given: {}, by: 'ada', at: 2 } }
    })
    const crm = { given: {}, by: 'ada', at: 2 }
    assert.deepEqual((await kv.get('trivium:push-made'))?.value, {
      shop: { ...shop, pausedAt: 7 },
      crm,
      newer,
    })
    await stored.change(({ crm: _, ...others }) => others)
    assert.deepEqual((await kv.get('trivium:push-made'))?.value, { shop: { ...shop, pausedAt: 7 }, newer })
  })

  test('pauses of another kind, which do not end the others', async () => {
    const kv = openKv()
    const records = createPauseRecords(kv)
    const route = { kind: 'route', name: 'sales', since: 1, by: 'ada' } as const
    const newer = { kind: 'queue', name: 'all', since: 1, by: 'ada' }
    await kv.set('pauses', { pauses: [newer, route], cancels: [], zone: 'utc' })
    assert.deepEqual((await records.load()).pauses, [route])
    const skill = { kind: 'skill', name: 'pay', since: 2, by: 'ada' } as const
    await records.change((state) => ({ ...state, pauses: [...state.pauses, skill] }))
    const value = { pauses: [route, skill, newer], cancels: [], zone: 'utc' }
    assert.deepEqual((await kv.get('pauses'))?.value, value)
  })

  test('the usage of models, and the runs of skills', async () => {
    const kv = openKv()
    const now = () => Date.UTC(2026, 0, 1, 12)
    const row = ['m', 's', 'ada', 1, 1, 1, 0.5, 0]
    const newer = [...row, 'cached']
    const counts = { runs: 3, failed: 0, durations: [], callers: {} }
    await kv.set('usage-cost:2026-01-01', [newer, row])
    await kv.set('usage-runs-slot:2026-01-01T12:00Z', { other: { total: 1 } })
    await kv.set('usage-runs:pay', {
      recent: [{ from: 'later' }],
      days: { '2026-01-01': counts },
      zone: 'utc',
    })
    const step = { model: 'm', skill: 's', sender: 'bob', inputTokens: 2, outputTokens: 2 }
    await createCostLedger({ kv, now }).add(step)
    const bobs = ['m', 's', 'bob', 2, 2, 1, 0, 4]
    assert.deepEqual((await kv.get('usage-cost:2026-01-01'))?.value, [row, bobs, newer])
    const runs = createRunLogs({ kv, now })
    runs.add('pay', { at: now(), ms: 1, by: 'cli' })
    await runs.flush()
    const { days, zone } = Object((await kv.get('usage-runs:pay'))?.value)
    assert.deepEqual([days['2026-01-01'].runs, zone], [4, 'utc'])
    const slot = Object((await kv.get('usage-runs-slot:2026-01-01T12:00Z'))?.value)
    assert.deepEqual([slot.pay.runs, slot.other], [1, { total: 1 }])
  })

  test('pauses of schedules', async () => {
    const kv = openKv()
    const pauses = createSchedulePauses(kv, () => 5)
    await kv.set('schedules-paused', { nightly: { since: 1 }, newer: { from: 1 } })
    assert.deepEqual({ ...(await pauses.read()) }, { nightly: { since: 1 } })
    await pauses.add('weekly', 'ada')
    await pauses.end('nightly')
    assert.deepEqual((await kv.get('schedules-paused'))?.value, {
      weekly: { since: 5, by: 'ada' },
      newer: { from: 1 },
    })
  })
})
