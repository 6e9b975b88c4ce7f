import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetSchema } from '../../src/config/schema/budget.ts'
import { pathGet } from '../../src/core/json.ts'
import { createBudgets } from '../../src/runtime/model/budget.ts'
import { callFrom, silent } from '../features/kit.ts'
import { createMemoryStore } from '../fixtures/memory-store.ts'

const HOUR = 3_600_000

test('a budget slides: what was used goes on from the moment at which enough of it is too old', async () => {
  let at = Date.UTC(2026, 10, 23)
  const { kv } = createMemoryStore(() => at)
  let refusals = 0
  const make = () =>
    createBudgets({
      ...{ kv, log: silent, now: () => at },
      budget: () => budgetSchema.parse({ sender: ['100 tokens/1d', '10 EUR/12h'], total: '1k tokens/1d' }),
      prices: () => ({ 'x:*': { input: 0, output: 1_000_000 } }),
      refused: () => void refusals++,
      used: async () => {},
    })
  const [one, two] = [make(), make()]
  const [ada, bob] = [callFrom('team'), callFrom('team', { who: 'bob' })]
  const use = (budgets: typeof one, call: typeof ada, inputTokens: number, model = 'y:small') =>
    budgets.spend(call, { model, inputTokens, outputTokens: 0 })
  /** In how many hours it goes on; undefined: now. */
  const until = async (call: typeof ada) => {
    const refused = await one.require(call).catch((error: unknown) => error)
    if (refused === undefined) return undefined
    assert.equal(pathGet(refused, 'code'), 'budget_exhausted')
    return (Number(pathGet(refused, 'cause.until')) - at) / HOUR
  }

  await Promise.all([use(one, ada, 30), use(two, ada, 30)])
  at += 6 * HOUR
  await use(two, ada, 39)
  assert.equal(await until(ada), undefined)
  await use(one, ada, 1)
  assert.equal(await until(ada), 18.5, 'what two daemons counted is one, and the oldest goes first')
  assert.equal(await until(bob), undefined)
  at += 18.5 * HOUR
  assert.equal(await until(ada), undefined)

  await one.spend(bob, { model: 'x:dear', inputTokens: 0, outputTokens: 10 })
  assert.equal(await until(bob), 12.25, 'money counts where there are prices')
  await use(one, callFrom('cli'), 1000)
  assert.equal(await until(callFrom('cli')), 24.5)
  assert.equal(refusals, 3)
  // What the daemon runs for somebody counts as theirs, and a tag makes nobody of them.
  await use(one, { ...bob, caller: { kind: 'code' } }, 100)
  assert.notEqual(await until(bob), 12.25)
  const eve = callFrom('mail', { who: 'eve@example.com' })
  await use(one, callFrom('mail', { who: 'eve+1@example.com' }), 100)
  assert.equal(await until(eve), 24.5)
  const [total, senders] = await two.status()
  assert.partialDeepStrictEqual(total, { budget: 'total', used: 1250, most: 1000 })
  assert.partialDeepStrictEqual(senders, {
    over: [{ sender: 'mail:eve@example.com' }, { sender: 'team:bob' }],
  })
  // A stranger gains nothing by another name.
  const stranger = (who: string) => callFrom('open', { who, verified: false })
  await use(one, stranger('a'), 60)
  await use(one, stranger('b'), 60)
  assert.equal(await until(stranger('c')), 24.5)
})

test('a budget says its time in full or short, and a month is no minute', () => {
  const per = (text: string) => budgetSchema.safeParse({ total: text }).data?.total[0]?.per
  assert.deepEqual(
    ['1 EUR/30d', '1 EUR/month', '1 EUR/day', '1k tokens/h', '1k tokens/week', '1 EUR/minute'].map(per),
    [30 * 24, 30 * 24, 24, 1, 7 * 24, 1 / 60].map((hours) => hours * HOUR),
  )
  assert.deepEqual(['1 EUR/moon', '1 EUR/year', '1 EUR/0d', '1 EUR'].map(per), Array(4).fill(undefined))
})
