/** A `match` in words: `gateway: shop or returns, not from: bot`. The empty text without one. */
export function matchInWords(match = {}) {
  return Object.entries(match)
    .map(([key, wanted]) => {
      if (key === 'not') return wanted.map((each) => `not (${matchInWords(each)})`).join(', ')
      return `${key}: ${Array.isArray(wanted) ? wanted.join(' or ') : wanted}`
    })
    .join(', ')
}
