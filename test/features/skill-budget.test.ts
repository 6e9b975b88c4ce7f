import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBudgets } from '../../src/features/budget/budgets.ts'
import { budgetSchema } from '../../src/features/budget/schema.ts'
import { storeKinds } from '../runtime/support/store.ts'
import { callFrom, silent } from './kit.ts'

for (const { kind, place, open } of storeKinds()) {
  test(`a skill has budgets of its own, which others do not use up, on the ${kind} store`, async (t) => {
    const { kv } = await open(t, await place(t))
    const refused: string[] = []
    const budgets = createBudgets({
      kv,
      log: silent,
      now: Date.now,
      budget: () =>
        budgetSchema.parse({ skill: { helper: ['100 tokens/1d', '5 EUR/7d'], other: '1k tokens/1d' } }),
      prices: () => ({ 'x:*': { input: 1_000_000, output: 0 } }),
      refused: (budget) => refused.push(budget),
      used: async () => {},
    })
    const by = (skill: string) => ({ ...callFrom('team'), skill })
    const spend = (skill: string, model: string, inputTokens: number) =>
      budgets.spend(by(skill), { model, inputTokens, outputTokens: 0 })
    await spend('other', 'y:small', 999)
    await spend('nobody', 'y:small', 9_999)
    await spend('helper', 'y:small', 99)
    for (const skill of ['helper', 'other', 'nobody']) await budgets.require(by(skill))
    await spend('helper', 'x:dear', 1)
    await assert.rejects(budgets.require(by('helper')), {
      code: 'budget_exhausted',
      message: /100 tokens\/1d for the skill helper/,
    })
    await budgets.require(by('other'))
    assert.deepEqual(refused, ['skill'])
    const [tokens, money, other] = await budgets.status()
    assert.partialDeepStrictEqual(tokens, { budget: 'skill', skill: 'helper', used: 100, most: 100 })
    assert.partialDeepStrictEqual(money, { limit: '5 EUR/7d', unit: 'EUR', used: 1, most: 5 })
    assert.partialDeepStrictEqual(other, { skill: 'other', used: 999, most: 1_000 })
  })
}

test('a budget of a skill is refused if it is not an amount, or is in another currency', () => {
  const issueOf = (skill: object, total = '1 EUR/1d') =>
    budgetSchema.safeParse({ total, skill }).error?.issues[0]
  assert.deepEqual(issueOf({ helper: '5 apples' })?.path, ['skill', 'helper'])
  assert.match(String(issueOf({ helper: '5 USD/1d', other: '1k tokens/1d' })?.message), /same currency/)
  assert.equal(issueOf({ helper: '5 EUR/1d' }), undefined)
})
