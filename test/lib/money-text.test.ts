import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moneyText } from '../../src/lib/money-text.ts'

test('an amount has two decimals, and a small one two digits', () => {
  const amounts = [0, 1234.5, 0.1, 0.0416, 0.00997, 0.000_000_15]
  assert.deepEqual(amounts.map(moneyText), ['0.00', '1234.50', '0.10', '0.042', '0.01', '0.00000015'])
})
