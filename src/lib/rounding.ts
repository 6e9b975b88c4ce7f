/**
 * A sum of amounts of money without the errors of floating-point numbers: 0.3, not
 * 0.30000000000000004. Prices are per million tokens, so nine decimals are exact enough for a
 * single token.
 */
export function withoutRoundingErrors(sum: number): number {
  return Number(sum.toFixed(9))
}
