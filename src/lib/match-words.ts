/** A `match` in words: `gateway: shop or returns, not (from: bot)`. The empty text without one. */
export function matchInWords(match: Readonly<Record<string, unknown>> = {}): string {
  return Object.entries(match)
    .map(([key, wanted]) => {
      if (key === 'not')
        return [wanted]
          .flat()
          .map((each) => `not (${matchInWords(Object(each))})`)
          .join(', ')
      return `${key}: ${[wanted].flat().join(' or ')}`
    })
    .join(', ')
}
