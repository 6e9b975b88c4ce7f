/** Compares texts for a sort that does not depend on the locale of the machine. */
export function byCodeUnits(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
