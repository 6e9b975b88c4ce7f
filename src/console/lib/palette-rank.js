import { foldText } from '../../lib/fold-text.ts'

/** Ranks of a match in the description: at the beginning of a word, and inside one. */
const IN_ABOUT = 5
const INSIDE_ABOUT = 6
/** A problem comes before the thing that has it. */
const PROBLEM_FIRST = -0.5
/** Only the beginning of a word is matched: whole words go first. */
const BEGINNING = 0.1
/** Built-in skills and routes come after everything that has a page or does something. */
const BUILT_IN = 10
/** Minimum length of a word in which one typing error is forgiven. */
const MIN_FORGIVEN = 4

/**
 * The entries that have all `words` (as `foldText`), best first: a name that starts with a word, then
 * one that contains it, then a match in `about` or in `more`, which is not shown. Of two such names,
 * the one with more of the words as a whole goes first: `refund` before `refunds` and `refund-mail`.
 */
export function matching(entries, words) {
  return ranked(entries, (entry) => rankOf(entry, words, has))
}

/** The same with one typing error in each word of at least four letters. */
export function nearlyMatching(entries, words) {
  return ranked(entries, (entry) => rankOf(entry, words, nearlyHas))
}

function ranked(entries, rank) {
  return entries
    .map((entry) => ({ entry, rank: rank(entry) }))
    .filter((each) => each.rank !== undefined)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ entry }) => entry)
}

/** `things`: the names of what a problem is about. */
function rankOf(entry, words, hasWord) {
  const own = rankOfName(entry, words, hasWord)
  const things = (entry.things ?? []).map((name) => rankOfName({ ...entry, name }, words, hasWord))
  const ranks = [own, ...things.map((rank) => rank + PROBLEM_FIRST)].filter((rank) => rank >= PROBLEM_FIRST)
  return ranks.length > 0 ? Math.min(...ranks) : undefined
}

function rankOfName({ name, about = '', more = '', kind }, words, hasWord) {
  const folded = foldText(name)
  const wholes = folded.split(/\s/)
  const parts = folded.split(/[\s-]/)
  // Of several words, one may be the kind: `skill refund`.
  const described = foldText(`${about} ${more} ${words.length > 1 ? kind : ''}`)
  let rank = kind.startsWith('built-in') ? BUILT_IN : 0
  for (const word of words) {
    if (!wholes.includes(word)) rank += BEGINNING
    if (folded.startsWith(word)) continue
    if (startsWord(folded, word) || hasWord(parts, word)) rank += 1
    else if (folded.includes(word)) rank += 2
    else if (startsWord(described, word)) rank += IN_ABOUT
    else if (described.includes(word)) rank += INSIDE_ABOUT
    else return undefined
  }
  return rank
}

/** Those with all `words` (as `foldText`) at the beginnings of words come first. */
export function atWordsFirst(entries, words) {
  return [true, false].flatMap((isFirst) => entries.filter((entry) => hasAtWords(entry, words) === isFirst))
}

/** Whether each of the words begins a word of the entry. */
export function hasAtWords({ name, about = '', more = '', kind = '' }, words) {
  const text = foldText(`${name} ${about} ${more} ${kind}`)
  return words.every((word) => startsWord(text, word))
}

/** Whether a text (as `foldText`) has a word in it that begins with `word`. */
export function startsWord(folded, word) {
  let at = folded.indexOf(word)
  while (at > 0 && IN_WORD.test(folded[at - 1])) at = folded.indexOf(word, at + 1)
  return at >= 0
}

const IN_WORD = /[\p{L}\p{N}]/u

function has(parts, word) {
  return parts.some((part) => part.startsWith(word))
}

function nearlyHas(parts, word) {
  return has(parts, word) || (word.length >= MIN_FORGIVEN && parts.some((part) => isNear(part, word)))
}

/** Whether a word becomes `part` by adding, removing or changing one letter, or by swapping two. */
function isNear(part, word) {
  if (Math.abs(part.length - word.length) > 1) return false
  let at = 0
  while (at < part.length && part[at] === word[at]) at++
  const [one, other] = [part.slice(at), word.slice(at)]
  return (
    one.slice(1) === other ||
    one === other.slice(1) ||
    one.slice(1) === other.slice(1) ||
    (one[0] === other[1] && one[1] === other[0] && one.slice(2) === other.slice(2))
  )
}
