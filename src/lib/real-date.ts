/**
 * Whether the date at the start of a text exists. `Date.parse` takes 31 February for 3 March. True
 * for texts that do not begin with a date.
 */
export function hasRealDate(text: string): boolean {
  const [, year, month, day] = /^\s*(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)/.exec(text) ?? []
  if (year === undefined) return true
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  return date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
}
