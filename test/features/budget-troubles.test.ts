import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetStatus } from '../../src/core/budget.ts'
import { DAY, HOUR } from '../../src/core/units.ts'
import { forecast } from '../../src/features/budget/forecast.ts'
import { budgetTroubles } from '../../src/features/troubles/budget-troubles.ts'

const money = { limit: '2 EUR/4d', unit: 'EUR', most: 2 }
const total = (used: number, times: object = {}): BudgetStatus => {
  return { budget: 'total', ...money, used, left: 2 - used, ...times }
}
const troublesOf = (...budgets: BudgetStatus[]) => budgets.flatMap(budgetTroubles)

test('a budget with less than a tenth left is a trouble, before runs wait', () => {
  const [near, ...others] = troublesOf(total(1.9), total(1.7))
  assert.deepEqual(others, [])
  assert.equal(near?.code, 'budget')
  assert.match(String(near?.title), /nearly used up \(2 EUR\/4d\)/)
  const [over] = troublesOf(total(2, { until: HOUR }))
  assert.notEqual(over?.key, near?.key)
})

test('a budget that does not last is a trouble from half of it', () => {
  const at = Date.UTC(2026, 10, 29, 12, 5)
  assert.equal(troublesOf(total(0.9, { usedUpAt: at })).length, 0)
  const [found] = troublesOf(total(1.1, { usedUpAt: at }))
  assert.match(String(found?.title), /will be used up/)
  assert.match(String(found?.text), /used up at about 2026-11-29 12:05 UTC/)
})

test('a budget lasts if its usage leaves the window as fast as new usage comes', () => {
  const amount = { most: 100, unit: 'tokens', per: 48 * HOUR, text: '100 tokens/2d' }
  const now = 1_000 * HOUR
  const parts = (perHour: number, hours: number): Record<string, [number, number]> =>
    Object.fromEntries(Array.from({ length: hours }, (_, ago) => [now - (ago + 1) * HOUR, [perHour, 0]]))
  assert.deepEqual(forecast(parts(1, 48), amount, now), {})
  assert.deepEqual(forecast({}, amount, now), {})
  // 36 tokens are used, and 6 more each hour: 64 are left for less than 11 hours.
  const hours = (Number(forecast(parts(6, 6), { ...amount, per: 24 * HOUR }, now)?.usedUpAt) - now) / HOUR
  assert.ok(hours > 9 && hours < 12, String(hours))
  // 80 tokens within two of six hours: at 40 an hour, the last 20 are left for half an hour.
  const young = (Number(forecast(parts(40, 2), { ...amount, per: 24 * HOUR }, now)?.usedUpAt) - now) / HOUR
  assert.ok(young > 0.4 && young < 0.6, String(young))
})

test('a forecast counts with the last day if it was faster than the quarter of the window, and names its rate', () => {
  const per = 30 * 24 * HOUR
  const amount = { most: 0.78, unit: 'EUR', per, text: '0.78 EUR/30d' }
  const length = per / 48
  const now = 1_000 * length
  // Little usage eight days ago, and 0.24 EUR a day in the last three days.
  const newest = Array.from({ length: 5 }, (_, ago): [number, [number, number]] => {
    return [now - (ago + 1) * length, [0, 0.15]]
  })
  const found = forecast({ [now - 13 * length]: [0, 0.002], ...Object.fromEntries(newest) }, amount, now)
  assert.deepEqual(found?.rate, { amount: 0.24, per: 'day', measured: 24 * HOUR })
  // 0.028 EUR are left for 2.8 hours.
  assert.equal((Number(found?.usedUpAt) - now) / HOUR, Math.round(2.8 * 12) / 12)
})

test('a forecast has the exact rate of the last day, and that of the last hour if it is much faster', () => {
  const per = 30 * DAY
  const amount = { most: 0.23, unit: 'EUR', per, text: '0.23 EUR/30d' }
  const length = per / 48
  const now = 1_000 * length + 7 * HOUR
  // 0.2 EUR in three days. The buckets of 15 hours cannot tell the usage of the last 24 hours.
  const buckets = Object.fromEntries(
    Array.from({ length: 5 }, (_, ago): [number, [number, number]] => [(1_000 - ago) * length, [0, 0.04]]),
  )
  const use = (hours: number, money: number) => ({ ms: hours * HOUR, tokens: 0, money })
  const ask = (hour: number) => forecast(buckets, amount, now, { hour: use(1, hour), day: use(24, 0.072) })
  const fast = ask(0.02)
  assert.deepEqual(fast.rate, { amount: 0.072, per: 'day', measured: DAY })
  assert.equal((Number(fast.usedUpAt) - now) / HOUR, 10, '0.03 EUR at 0.003 an hour')
  assert.deepEqual(fast.lastHour?.rate, { amount: 0.02, per: 'hour', measured: HOUR })
  assert.equal((Number(fast.lastHour?.usedUpAt) - now) / HOUR, 1.5)
  for (const hour of [0, 0.003, 0.0035]) assert.equal(ask(hour).lastHour, undefined, 'not clearly sooner')
  // The usual rate lasts, but an hour like the last one would end it today.
  const calm = { ...amount, most: 4 }
  const sudden = forecast(buckets, calm, now, { hour: use(1, 1), day: use(24, 0.072) })
  assert.equal(sudden.usedUpAt, undefined)
  assert.equal((Number(sudden.lastHour?.usedUpAt) - now) / HOUR, 3.75)
  const short = { ...amount, per: 2 * HOUR }
  const inShort = forecast({ [now - 1]: [0, 0.2] }, short, now, { hour: use(1, 9), day: use(24, 9) })
  assert.equal(inShort.lastHour, undefined)
})

test('a budget that an hour like the last one ends is a trouble from half of it, with both times', () => {
  const [usual, soon] = [Date.UTC(2026, 10, 29, 12, 5), Date.UTC(2026, 10, 29, 3)]
  const lastHour = { usedUpAt: soon, rate: { amount: 0.3, per: 'hour', measured: HOUR } }
  const rate = { amount: 0.5, per: 'day', measured: DAY }
  const [found] = troublesOf(total(1.1, { usedUpAt: usual, rate, lastHour }))
  const day = 'At 0.50 EUR a day (as in the last 24 hours) it is used up at about 2026-11-29 12:05 UTC.'
  const hour = 'At 0.30 EUR an hour (as in the last hour) it is used up at about 2026-11-29 03:00 UTC.'
  assert.ok(String(found?.text).includes(`${day} ${hour}`))
  assert.equal(troublesOf(total(1.1, { lastHour })).length, 1)
})
