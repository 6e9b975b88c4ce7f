import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { silent } from '../../src/core/log.ts'
import { createRecords as createJobRecords } from '../../src/engine/long-work-records.ts'
import { createPauseRecords } from '../../src/features/pauses/records.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { createStoredSubscriptions } from '../../src/features/push/stored-subscriptions.ts'
import { createRunReports } from '../../src/features/schedules/run-reports.ts'
import { createSchedulePauses } from '../../src/features/schedules/schedule-pauses.ts'
import { createPlannedSends } from '../../src/features/send-later/records.ts'
import { createCostLedger } from '../../src/features/usage/cost-ledger.ts'
import { createRunLogs } from '../../src/features/usage/run-log.ts'
import { createSessionService } from '../../src/runtime/session/sessions.ts'
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

  test('pauses of an unknown kind, and still reads those that it knows', async () => {
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
    // Model, skill, sender, input tokens, output tokens, steps, money, steps without a price.
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
    const rows = Object((await kv.get('usage-cost:2026-01-01'))?.value)
    assert.deepEqual(rows.slice(0, 3), [row, bobs, newer])
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
    const pauses = createSchedulePauses(kv)
    await kv.set('schedules-paused', { nightly: { since: 1 }, newer: { from: 1 } })
    assert.deepEqual({ ...(await pauses.read()) }, { nightly: { since: 1 } })
    await pauses.begin('weekly', { since: 5, by: 'ada' })
    await pauses.end('nightly')
    assert.deepEqual((await kv.get('schedules-paused'))?.value, {
      weekly: { since: 5, by: 'ada' },
      newer: { from: 1 },
    })
  })

  test('planned sends, when they are cancelled', async () => {
    const kv = openKv()
    const records = createPlannedSends(kv, silent)
    const content = { key: 'a', text: 'hello', priority: 1 }
    const stored = {
      state: 'waiting',
      at: 1,
      created: 1,
      owner: 'cli',
      gateway: 'mail',
      to: 'ada@x',
      zone: 'utc',
    }
    await kv.set('send-later:a', { ...stored, sending: content })
    await records.begin({ indexKey: 'send-due:000000000000001:a', at: 1, key: 'a' }, 'run-1')
    const begun = { ...stored, sending: content, state: 'sending', run: 'run-1' }
    assert.deepEqual((await kv.get('send-later:a'))?.value, begun)
    await records.unsent('a', 'run-1')
    await records.move('a', ['unsent'], 'cancelled')
    assert.deepEqual((await kv.get('send-later:a'))?.value, { ...begun, state: 'cancelled' })
  })

  test('long jobs, at each step', async () => {
    const kv = openKv()
    const records = createJobRecords(kv, silent, () => 5)
    const job = { id: 'dig-1', kind: 'dig', by: 'ada', startedAt: 1, target: {}, total: 1, zone: 'utc' }
    await kv.set('long-job:dig-1', { ...job, state: 'running', updatedAt: 1, done: 0, retryAt: 2 })
    await records.change('dig-1', ({ retryAt: _, ...known }) => ({ ...known, done: 1 }))
    const value = { ...job, state: 'running', updatedAt: 5, done: 1, data: null, failures: 0 }
    assert.deepEqual((await kv.get('long-job:dig-1'))?.value, value)
  })

  test('sessions, when an entry is added', async () => {
    const kv = openKv()
    const session = { name: 'chat', session: 'ada', zone: 'utc' }
    const entry = { at: 1, result: 'hi', mood: 'good' }
    await kv.set('["chat","ada"]', { ...session, entries: [entry] })
    const sessions = createSessionService({ file: kv, memory: kv, shared: kv }, silent)
    const limits = { maxEntries: 5, ttl: 1_000 }
    await sessions.append({ name: 'chat', key: 'ada', store: 'file' }, { at: 2, result: 'ho' }, limits)
    const value = { ...session, entries: [entry, { at: 2, result: 'ho' }] }
    assert.deepEqual((await kv.get('["chat","ada"]'))?.value, value)
  })

  test('the control of a subscription, and the last run of a schedule', async () => {
    const kv = openKv()
    await kv.set('trivium:push:crm', { resumedAt: 1, zone: 'utc' })
    await createRecords(kv, 'crm').change((control) => ({ ...control, resumedAt: 2 }))
    assert.deepEqual((await kv.get('trivium:push:crm'))?.value, { resumedAt: 2, zone: 'utc' })
    const schedule = { id: 'nightly', created: 'then' }
    await kv.set('schedule-report:nightly:then', { planned: 1, startedAt: 1, outcome: 'running', host: 'a' })
    await createRunReports(kv, () => 5).report(schedule, { planned: 1, outcome: 'done' })
    const report = { planned: 1, startedAt: 1, endedAt: 5, outcome: 'done', host: 'a' }
    assert.deepEqual((await kv.get('schedule-report:nightly:then'))?.value, report)
  })
})
