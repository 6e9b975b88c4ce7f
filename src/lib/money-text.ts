/** An amount with two decimals; a small one with two significant digits. */
export function moneyText(money: number): string {
  return money === 0 || money >= 0.1 ? money.toFixed(2) : String(Number(money.toPrecision(2)))
}
