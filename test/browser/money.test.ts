import assert from 'node:assert/strict'
import { test } from 'node:test'

const { money } = await import(new URL('../../src/console/lib/money.js', import.meta.url).href)

test('an amount of money has two decimals, and a small one two significant digits', () => {
  const shown = [12.4, 0, 0.1, 0.0999, 0.00997, 0.00314].map((amount) => money(amount, 'EUR'))
  assert.deepEqual(shown, ['12.40 EUR', '0.00 EUR', '0.10 EUR', '0.10 EUR', '0.010 EUR', '0.0031 EUR'])
  assert.equal(money(0.5), '0.50')
})
