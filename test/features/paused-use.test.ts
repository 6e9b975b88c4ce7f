import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BudgetStatus, NamedPause } from '../../src/core/budget.ts'
import { DAY, HOUR } from '../../src/core/units.ts'
import { type LatelyUsed, withPausedUse } from '../../src/features/budget/paused-use.ts'
import type { Buckets } from '../../src/features/budget/sliding-sums.ts'
import { availableAfter, leftAt } from '../../src/features/budget/sums.ts'
import { createPauseView } from '../../src/features/pauses/view.ts'
import { budgetTroubles } from '../../src/features/troubles/budget-troubles.ts'

const now = 100 * DAY
const use = { limit: '2 EUR/4d', unit: 'EUR', used: 1.9, most: 2, left: 0.1 }
const soon = { usedUpAt: now + HOUR, rate: { amount: 0.1, per: 'hour' as const, measured: HOUR } }
const BUDGETS: BudgetStatus[] = [
  { budget: 'total', ...use, ...soon },
  { budget: 'skill', skill: 'sum', ...use, ...soon },
]
const ROUTES = [
  { name: 'calls', skill: 'sum' },
  { name: 'mails', skill: 'answer' },
]
const pauseOf = (kind: 'gateway' | 'route' | 'skill', name: string, until?: number) => {
  return { kind, name, since: 0, by: 'ada', ...(until !== undefined && { until }) }
}

/** The budgets as they are shown while these pauses last. */
async function shown(pauses: ReturnType<typeof pauseOf>[], lately: Partial<LatelyUsed>, concurrency = 16) {
  const view = createPauseView(
    () => ROUTES,
    () => now,
  )
  view.use({ pauses, cancels: [] })
  const job = (id: string, group: string) => ({ id, lane: `crm/${id}`, group })
  const read = withPausedUse(async () => BUDGETS, {
    pauses: view,
    held: async () => [job('a', 'calls'), job('b', 'calls'), job('c', 'mails')],
    concurrencyOf: () => concurrency,
    lately: async () => ({
      spent: [{ skill: 'sum', gateway: 'crm', tokens: 1_000 }],
      callersOf: () => [{ by: 'route calls', runs: 20 }],
      costOf: () => ({ runs: 20, tokens: 1_000, money: 1.2 }),
      ...lately,
    }),
    later: {
      availableAfter: async (_, __, at) => at + 3 * HOUR,
      // A part of what is used leaves the window in the meantime.
      leftAt: async () => 0.5,
    },
    now: () => now,
  })
  const [total, skill] = await read()
  assert.ok(total && total.budget === 'total' && skill && skill.budget === 'skill')
  return { total, skill }
}

test('a budget has no forecast and is no trouble while its only spender is paused', async () => {
  for (const pause of [pauseOf('skill', 'sum'), pauseOf('route', 'calls'), pauseOf('gateway', 'crm')]) {
    for (const budget of Object.values(await shown([pause], {}))) {
      assert.deepEqual([budget.usedUpAt, budget.rate], [undefined, undefined], pause.kind)
      const by: NamedPause[] = [{ kind: pause.kind, name: pause.name, by: 'ada' }]
      assert.deepEqual(budget.paused, {
        by,
        waiting: 2,
        expected: { runs: 2, amount: 0.12, until: now + 3 * HOUR },
        rate: soon.rate,
      })
      assert.equal(budget.paysFor, 1)
      assert.deepEqual(budgetTroubles(budget), [])
    }
  }
})

test('a forecast stays if a spender still runs', async () => {
  const other = await shown([pauseOf('route', 'mails'), pauseOf('gateway', 'shop')], {})
  assert.ok(other.skill.usedUpAt && other.total.usedUpAt)
  assert.equal((await shown([], {})).skill.paysFor, 1, 'also without pauses')
  const spent = [
    { skill: 'sum', gateway: 'crm', tokens: 500 },
    { skill: 'answer', gateway: 'support', tokens: 500 },
  ]
  const callersOf = (skill: string) => [{ by: skill === 'sum' ? 'route calls' : 'route mails', runs: 9 }]
  const both = await shown([pauseOf('skill', 'sum')], { spent, callersOf })
  assert.ok(both.skill.paused && both.total.usedUpAt)
  const direct = await shown([pauseOf('skill', 'sum')], {
    spent: [{ skill: 'sum', tokens: 1_000 }],
    callersOf: () => [{ by: 'cli ada', runs: 9 }],
  })
  assert.ok(direct.skill.usedUpAt, 'the pause of a skill does not hold calls from the command line')
})

test('a budget is used again when the first spender runs again, after all pauses that hold it', async () => {
  const spent = [
    { skill: 'sum', gateway: 'crm', tokens: 500 },
    { skill: 'answer', gateway: 'support', tokens: 500 },
  ]
  const callersOf = (skill: string) => [{ by: skill === 'sum' ? 'route calls' : 'skill sum', runs: 9 }]
  const pauses = [pauseOf('gateway', 'crm', now + 2 * HOUR), pauseOf('route', 'calls', now + 5 * HOUR)]
  const { total } = await shown(pauses, { spent, callersOf, costOf: () => undefined })
  assert.equal(total.paused?.until, now + 5 * HOUR)
  assert.equal(total.paysFor, undefined)
  assert.equal(total.paused?.by.length, 2)
})

test('the runs that are expected are those that begin while something is left', async () => {
  const costOf = () => ({ runs: 1, tokens: 1_000, money: 0.1 })
  const pause = pauseOf('skill', 'sum')
  const together = await shown([pause], { costOf })
  assert.deepEqual(together.skill.paused?.expected, { runs: 2, amount: 0.2, until: now + 3 * HOUR })
  const oneByOne = await shown([pause], { costOf }, 1)
  assert.deepEqual(oneByOne.skill.paused?.expected, { runs: 1, amount: 0.1, until: now + 3 * HOUR })
})

test('what follows the end of a pause is expected of what is left then', async () => {
  const { skill } = await shown([pauseOf('skill', 'sum', now + 5 * HOUR)], {})
  assert.deepEqual(skill.paused?.atEnd, { runs: 2, amount: 0.12, left: 0.5 })
  assert.deepEqual(skill.paused?.expected, { runs: 2, amount: 0.12, until: now + 3 * HOUR }, 'if it ends now')
})

test('usage that leaves the window before a pause ends is left at its end', () => {
  const amount = { most: 3, unit: 'EUR', per: 48 * HOUR, text: '3 EUR/2d' }
  // Each bucket is of one hour: the first leaves the window at hour 49, the second at hour 50.
  const buckets: Buckets = { [String(0)]: [0, 1], [String(HOUR)]: [0, 1.5] }
  const left = [48, 49, 50].map((hour) => leftAt(buckets, amount, hour * HOUR))
  assert.deepEqual(left, [0.5, 1.5, 3])
  assert.equal(availableAfter(buckets, amount, 1, 48 * HOUR), 49 * HOUR)
  assert.equal(availableAfter(buckets, amount, 1, 49 * HOUR), undefined)
})
