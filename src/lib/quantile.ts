/** The value of a quantile (0 to 1), by nearest rank; undefined without values. */
export function quantileOf(values: readonly number[], part: number): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * part) - 1)]
}
