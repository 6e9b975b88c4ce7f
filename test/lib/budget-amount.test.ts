import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetAmount, leftOfBudget, usedOfBudget } from '../../src/lib/budget-amount.ts'

test('the amounts of a budget have one precision, and add up to its limit', () => {
  const textOf = (used: number, most: number) => {
    const budget = { unit: 'EUR', used, most, left: Math.max(0, most - used) }
    return `${usedOfBudget(budget)}, ${budgetAmount(budget, leftOfBudget(budget))}`
  }
  assert.equal(textOf(0.3796, 0.4), '0.380 of 0.400 EUR, 0.020 EUR')
  assert.equal(textOf(0.018, 20), '0.02 of 20.00 EUR, 19.98 EUR')
  for (const used of [0.385, 0.395, 0.405]) {
    const [shown = '', , , left = ''] = textOf(used, 1).split(/ of | EUR|, /)
    assert.equal(Number(shown) + Number(left), 1)
  }
  assert.equal(textOf(0.44, 0.4), '0.440 of 0.400 EUR, 0.000 EUR')
  // Usage is never shown as none.
  assert.equal(textOf(0.0012, 20), '0.0012 of 20.00 EUR, 20.00 EUR')
  assert.equal(budgetAmount({ unit: 'EUR' }, 0.0031), '0.0031 EUR')
  assert.equal(budgetAmount({ unit: 'tokens', most: 200_000 }, 21_088), '21,088 tokens')
})
