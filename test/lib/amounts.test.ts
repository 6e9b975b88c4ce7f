import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { amountOf, amountsIn, comparisonIn, faultyComparisonIn } from '../../src/lib/amounts.ts'

describe('the amounts of requests', () => {
  test('are numbers with or without a unit, however their digits are separated', () => {
    const amounts: [value: unknown, amount: number, unit: string][] = [
      [20, 20, ''],
      ['24.00 EUR', 24, 'EUR'],
      ['€ 1,240', 1240, '€'],
      ['EUR 1.240,50', 1240.5, 'EUR'],
      ['1,240.50', 1240.5, ''],
      ["1'000'000 CHF", 1_000_000, 'CHF'],
      ['3,5 kg', 3.5, 'kg'],
      ['-3', -3, ''],
    ]
    for (const [given, value, unit] of amounts)
      assert.deepEqual(amountOf(given), { value, unit }, String(given))
  })

  test('are no dates, ids, lists, or sentences with a number', () => {
    for (const value of [
      '2026-11-30',
      '01a22d22',
      '10.0.0.1.5-x',
      [3],
      { amount: 3 },
      'in 3 to 5 days',
      '',
      null,
    ])
      assert.equal(amountOf(value), undefined, JSON.stringify(value))
  })

  test('are not the numbers that name something', () => {
    const args = { order: '46794', customerId: 7, phone: '0049 30 1234', amount: '189.50 EUR', boxes: 2 }
    assert.deepEqual([...amountsIn(args).keys()], ['amount', 'boxes'])
  })

  test('are compared by a search word', () => {
    const args = { amount: '50.00 EUR' }
    const holds = (word: string) => comparisonIn(word)?.(args)
    assert.deepEqual(['amount<50', 'amount<=50', 'amount>=50', 'amount>50'].map(holds), [
      false,
      true,
      true,
      false,
    ])
    assert.equal(holds('total<99'), false, 'not without this argument')
    for (const word of ['amount', 'amount<', '<50', 'a<b', 'amount:50'])
      assert.equal(comparisonIn(word), undefined)
  })
})

test('a comparison with something else than an amount is named', () => {
  assert.deepEqual(faultyComparisonIn('lamp amount<50a'), { word: 'amount<50a', value: '50a' })
  assert.equal(faultyComparisonIn('lamp amount>=50.5'), undefined)
  assert.equal(faultyComparisonIn('lamp'), undefined)
})
