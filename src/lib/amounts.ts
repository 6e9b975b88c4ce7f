/** A number among the arguments of a request, with its currency or unit, if it has one. */
export type Amount = { value: number; unit: string }

/** A number, with a sign or a unit before or after it: `24.00 EUR`, `€ 1,240`, `-3`. */
const AMOUNT = /^(\p{Sc}|[A-Z]{3})?\s*(-?\d[\d.,' ]*?)\s*(\p{Sc}|%|\p{L}{1,12})?$/u
/** Names of arguments whose numbers name something instead of counting it. */
const OF_NAMES =
  /(^|[_-])(id|order|invoice|ticket|issue|number|no|ref|key|code|zip|phone|year)$|(Id|Number|Ref|Key|Code)$/i

/** The amounts among the arguments of a request, by the names of the arguments. */
export function amountsIn(args: unknown): Map<string, Amount> {
  const found = new Map<string, Amount>()
  for (const [name, value] of Object.entries(Object(args))) {
    const amount = OF_NAMES.test(name) ? undefined : amountOf(value)
    if (amount) found.set(name, amount)
  }
  return found
}

/** The amount that a value is; undefined for others. */
export function amountOf(value: unknown): Amount | undefined {
  if (typeof value === 'number') return { value, unit: '' }
  if (typeof value !== 'string' || value.length > 40) return undefined
  const [, before, digits = '', after] = AMOUNT.exec(value.trim()) ?? []
  const number = numberIn(digits)
  return digits === '' || Number.isNaN(number) ? undefined : { value: number, unit: after ?? before ?? '' }
}

/** A number with separators: the last of two kinds is the decimal one, and so is one with other than 3 digits after it. */
function numberIn(digits: string): number {
  const plain = digits.replaceAll(/[' ]/g, '')
  const last = Math.max(plain.lastIndexOf('.'), plain.lastIndexOf(','))
  if (last < 0) return Number(plain)
  const mark = plain.charAt(last)
  const others = plain.slice(0, last)
  const isThousands =
    others.includes(mark) || (mark === ',' && !others.includes('.') && plain.length - last === 4)
  const [whole, fraction] = isThousands ? [plain, ''] : [others, plain.slice(last + 1)]
  return Number(`${whole.replaceAll(/[.,]/g, '')}.${fraction || 0}`)
}

const COMPARISON = /^([\p{L}_][\p{L}\d_-]*)(<=|>=|<|>)(-?\d+(?:\.\d+)?)$/u

/** A comparison whose value is not an amount, such as `amount<50a`; undefined for other words. */
export function faultyComparisonIn(search: string): { word: string; value: string } | undefined {
  for (const word of search.split(/\s+/)) {
    const [, value = ''] = COMPARED.exec(word) ?? []
    if (value !== '' && !comparisonIn(word)) return { word, value }
  }
  return undefined
}

const COMPARED = /^[\p{L}_][\p{L}\d_-]*(?:<=|>=|<|>)(.+)$/u

/** The test of a search word such as `amount<50` or `amount>=10`; undefined for other words. */
export function comparisonIn(word: string): ((args: unknown) => boolean) | undefined {
  const [, name = '', sign, number] = COMPARISON.exec(word) ?? []
  if (sign === undefined) return undefined
  const limit = Number(number)
  return (args) => {
    const amount = amountOf(Object(args)[name])
    if (!amount) return false
    const { value } = amount
    if (sign === '<') return value < limit
    if (sign === '>') return value > limit
    return sign === '<=' ? value <= limit : value >= limit
  }
}
