import { elapsed } from './parts.js'
import { wantedIn } from './wanted.js'

/**
 * Characters of a name (`all`). Before a match there are at most `before`; if a word begins there,
 * at least `around`.
 */
const NAME_LIMITS = { all: 80, before: 30, around: 16 }

/** A text of limited length in which the first match is visible. */
export function cut(text, search) {
  const at = text.search(wantedIn({ search }) ?? '')
  // At the beginning of a word, if one is near.
  const word = text.lastIndexOf(' ', at - NAME_LIMITS.around) + 1
  const from = at > NAME_LIMITS.before ? Math.max(word, at - NAME_LIMITS.before) : 0
  const part = text.slice(from, from + NAME_LIMITS.all)
  return from > 0 ? `… ${part}` : part
}

/** `5 min ago`. */
export function ago(at) {
  return `${elapsed(Math.max(0, Date.now() - at))} ago`
}
