import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetStatus } from '../../src/core/budget.ts'
import { HOUR } from '../../src/core/units.ts'
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
  assert.equal(forecast(parts(1, 48), amount, now), undefined)
  assert.equal(forecast({}, amount, now), undefined)
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
