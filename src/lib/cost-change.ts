type Line = Record<string, unknown>

/**
 * The change of the cost from one time to another, such as `▲ 12 %`: of the money if all of it
 * is known, else of the tokens. Empty if nothing was used before.
 */
export function changeText(now: Line, before: Line): string {
  const [a, b] = isPriced(now) && isPriced(before) ? [now.money, before.money] : [tokens(now), tokens(before)]
  const [to, from] = [Number(a), Number(b)]
  if (from === 0) return ''
  const change = Math.round((100 * (to - from)) / from)
  if (change === 0) return 'as before'
  return `${change > 0 ? '▲' : '▼'} ${Math.abs(change).toLocaleString('en')} %`
}

const isPriced = ({ money, unpriced }: Line) => money !== undefined && unpriced === undefined
const tokens = ({ inputTokens, outputTokens }: Line) => Number(inputTokens) + Number(outputTokens)
