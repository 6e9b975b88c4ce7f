import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { DAY, HOUR } from '../../src/core/units.ts'
import { createBudgets } from '../../src/features/budget/budgets.ts'
import { budgetSchema } from '../../src/features/budget/schema.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'
import { callFrom, silent } from './kit.ts'

/** Two daemons on one store, with budgets per sender and in total, and a clock. */
function stage() {
  const clock = { now: Date.UTC(2026, 10, 23) }
  const { kv } = createMemoryStore(() => clock.now)
  let refusals = 0
  const createDaemon = () =>
    createBudgets({
      kv,
      log: silent,
      now: () => clock.now,
      budget: () => budgetSchema.parse({ sender: ['100 tokens/1d', '10 EUR/12h'], total: '1k tokens/1d' }),
      // EUR per million tokens: an output token costs 1 EUR.
      prices: () => ({ 'x:*': { input: 0, output: 1_000_000 } }),
      refused: () => void refusals++,
      used: async () => {},
    })
  const [first, second] = [createDaemon(), createDaemon()]
  /**
   * Asks for permission to use a model. Returns the hours until the sender can use models again;
   * undefined: now. Usage is counted in 48 buckets per window, and leaves with its bucket: a day
   * can last 24.5 hours, and 12 hours 12.25.
   */
  const hoursLeft = async (call: ReturnType<typeof callFrom>) => {
    const refused = await first.require(call).catch((error: unknown) => error)
    if (refused === undefined) return undefined
    assert.equal(pathGet(refused, 'code'), 'budget_exhausted')
    return (Number(pathGet(refused, 'cause.until')) - clock.now) / HOUR
  }
  return { clock, first, second, hoursLeft, refusals: () => refusals }
}

const tokens = (inputTokens: number) => ({ model: 'y:small', inputTokens, outputTokens: 0 })
const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]

test('a sender with an exhausted budget waits until enough of its usage is old, on all daemons', async () => {
  const { clock, first, second, hoursLeft, refusals } = stage()
  await Promise.all([first.spend(ada, tokens(30)), second.spend(ada, tokens(30))])
  clock.now += 6 * HOUR
  await second.spend(ada, tokens(39))
  assert.equal(await hoursLeft(ada), undefined)
  await first.spend(ada, tokens(1))
  assert.equal(await hoursLeft(ada), 18.5)
  assert.equal(await hoursLeft(bob), undefined)
  clock.now += 18.5 * HOUR
  assert.equal(await hoursLeft(ada), undefined)
  assert.equal(refusals(), 1)
})

test('a run that waits is one refusal, however often it checks, on whichever daemon', async () => {
  const { clock, first, second, hoursLeft, refusals } = stage()
  // Exhausts the total.
  await first.spend(callFrom('cli'), tokens(1000))
  await hoursLeft(ada)
  for (let hours = 0; hours < 24; hours++) {
    clock.now += HOUR
    await assert.rejects(second.require(ada), { code: 'budget_exhausted' })
  }
  assert.equal(refusals(), 1)
  // Another place in a run, or another skill, is another run.
  await hoursLeft({ ...ada, place: 'tool 1' })
  await hoursLeft({ ...ada, skill: 'another' })
  assert.equal(refusals(), 3)
  // Programs do not wait: each of their calls fails.
  for (const _ of [1, 2]) await hoursLeft(callFrom('cli'))
  assert.equal(refusals(), 5)
})

test('a budget in money counts models with a price', async () => {
  const { first, hoursLeft } = stage()
  await first.spend(bob, { model: 'x:dear', inputTokens: 0, outputTokens: 10 })
  assert.equal(await hoursLeft(bob), 12.25)
})

test('usage by a skill counts for the sender of its message', async () => {
  const { first, hoursLeft } = stage()
  await first.spend({ ...bob, caller: { kind: 'code' } }, tokens(100))
  assert.equal(await hoursLeft(bob), 24.5)
})

test('an email address counts without its tag', async () => {
  const { first, hoursLeft } = stage()
  await first.spend(callFrom('mail', { who: 'eve+1@example.com' }), tokens(100))
  assert.equal(await hoursLeft(callFrom('mail', { who: 'eve@example.com' })), 24.5)
})

test('the status has the total, and the senders over their budget or the fullest of given ones', async () => {
  const { first, second, hoursLeft } = stage()
  for (const call of [bob, callFrom('mail', { who: 'eve@example.com' })]) {
    await first.spend(call, tokens(100))
    await hoursLeft(call)
  }
  const [total, senders] = await second.status()
  assert.partialDeepStrictEqual(total, { budget: 'total', used: 200, most: 1000, left: 800 })
  // A bucket of a day is half an hour long.
  const resetHour = (Number(total && 'resetsAt' in total && total.resetsAt) / HOUR) % 24
  assert.equal(resetHour, 0.5)
  assert.partialDeepStrictEqual(senders, {
    over: [{ sender: 'mail:eve@example.com' }, { sender: 'team:bob' }],
  })
  await first.spend(callFrom('mail', { who: 'ann@example.com' }), tokens(30))
  // With senders given, the status lists those of them that are fullest.
  const windows: number[] = []
  const [, asked] = await second.status(async (per) => {
    windows.push(per)
    return ['mail:nobody@example.com', 'mail:ann@example.com', 'team:bob']
  })
  assert.deepEqual(windows, [DAY, DAY / 2])
  assert.partialDeepStrictEqual(asked, {
    fullest: [
      { sender: 'team:bob', left: 0 },
      { sender: 'mail:ann@example.com', used: 30, most: 100, left: 70 },
    ],
  })
})

test('the total budget applies to everybody', async () => {
  const { first, hoursLeft } = stage()
  await first.spend(callFrom('cli'), tokens(1000))
  assert.equal(await hoursLeft(callFrom('cli')), 24.5)
  assert.equal(await hoursLeft(bob), 24.5)
})

test('unverified senders of a gateway share a budget', async () => {
  const { first, hoursLeft } = stage()
  const stranger = (who: string) => callFrom('open', { who, verified: false })
  await first.spend(stranger('a'), tokens(60))
  await first.spend(stranger('b'), tokens(60))
  assert.equal(await hoursLeft(stranger('c')), 24.5)
})

test('the period of a budget is a duration or a unit, and a month is not a minute', () => {
  const per = (text: string) => budgetSchema.safeParse({ total: text }).data?.total[0]?.per
  assert.deepEqual(
    ['1 EUR/30d', '1 EUR/month', '1 EUR/day', '1k tokens/h', '1k tokens/week', '1 EUR/minute'].map(per),
    [30 * 24, 30 * 24, 24, 1, 7 * 24, 1 / 60].map((hours) => hours * HOUR),
  )
  assert.deepEqual(['1 EUR/moon', '1 EUR/year', '1 EUR/0d', '1 EUR'].map(per), Array(4).fill(undefined))
})

test('the status lists up to 100 senders over their budget, and says that there are more', async () => {
  const { first, second, hoursLeft } = stage()
  const exhaust = async (who: string) => {
    const call = callFrom('team', { who })
    await first.spend(call, tokens(100))
    await hoursLeft(call)
  }
  const lengths = async () => {
    const [, senders] = await second.status()
    return [pathGet(senders, 'over.length'), pathGet(senders, 'more')]
  }
  for (let at = 0; at < 100; at++) await exhaust(`sender-${at}`)
  assert.deepEqual(await lengths(), [100, undefined])
  await exhaust('another')
  assert.deepEqual(await lengths(), [100, true])
})

test('a sender whose entry expires while the list is read is not over the budget', async () => {
  const { kv } = createMemoryStore(Date.now)
  const list = async () => ({ items: ['budget-over:team:ada'], more: false })
  const budgets = createBudgets({
    kv: { ...kv, list },
    log: silent,
    now: Date.now,
    budget: () => budgetSchema.parse({ sender: ['100 tokens/1d'] }),
    prices: () => ({}),
    refused() {},
    used: async () => {},
  })
  assert.deepEqual(await budgets.status(), [{ budget: 'sender', limit: '100 tokens/1d', over: [] }])
})
