import { foldedPattern } from '../../lib/fold-text.ts'

/** `key:value`, or a text; both may be in quotes. As in src/core/search-words.ts. */
const TERM = /(?:(-?[a-z][a-z-]*):)?(?:"((?:[^"\\]|\\.)*)"|(\S+))/gi
const OF_SENDER = /^(from|sender)$/i

/**
 * A pattern of what a search looks for in texts and senders; undefined if it looks for nothing
 * there. It ignores case and the marks of letters, and is one group, so that `split` keeps the
 * matches. `search`: search words; `text` and `sender`: each is searched as a whole.
 */
export function wantedIn({ search = '', text, sender }) {
  const whole = [text, sender].map((part = '') => foldedPattern(part)).filter(Boolean)
  const parts = [...whole, ...patternsIn(search)]
  return parts.length > 0 ? new RegExp(`(${parts.join('|')})`, 'iu') : undefined
}

/** A function that tests whether a text has all words of a search. */
export function wordTests(search) {
  const patterns = patternsIn(search).map((pattern) => new RegExp(pattern, 'iu'))
  return (text) => patterns.length > 0 && patterns.every((pattern) => pattern.test(text))
}

function patternsIn(search) {
  const patterns = []
  for (const [, key, inQuotes, plain] of search.matchAll(TERM)) {
    if (key && !OF_SENDER.test(key)) continue
    const word = foldedPattern(plain ?? inQuotes.replace(/\\(.)/g, '$1'))
    const isNumber = plain !== undefined && /^\d+$/.test(plain)
    if (word) patterns.push(isNumber ? `(?<!\\d)${plain}(?!\\d)` : word)
  }
  return patterns
}
