/** An amount with two decimals; a small one with two significant digits, without an exponent. */
export function moneyText(money: number): string {
  if (money === 0 || money >= 0.1) return money.toFixed(2)
  return Number(money.toPrecision(2)).toLocaleString('en', { maximumFractionDigits: 20 })
}
