import { closest, distance } from 'fastest-levenshtein'

/** Maximum length of a compared name: longer ones would take too long. */
const LONGEST_COMPARED = 100
/** Maximum length of a list of known names that is shown. */
const LONGEST_LIST = 12
/** Maximum characters of a name in an error text. */
const LONGEST_QUOTE = 60

/** Maximum number of similar names. */
const MOST_SIMILAR = 3

/** Edits of two swapped letters, the most common typo. */
const EDITS_OF_SWAP = 2

/** The most similar known name. Undefined if more than about a third of the letters differ. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || name.length > LONGEST_COMPARED) return undefined
  const swapped = known.find((one) => lettersOf(one) === lettersOf(name))
  const found = swapped ?? closest(name.toLowerCase(), [...known])
  const isPart = name.startsWith(found) || found.startsWith(name)
  const share = isPart ? Math.ceil(name.length / 3) : Math.max(1, Math.round(name.length / 3))
  const limit = swapped === undefined ? share : Math.max(share, EDITS_OF_SWAP)
  return distance(name.toLowerCase(), found.toLowerCase()) <= limit ? found : undefined
}

function lettersOf(name: string): string {
  return [...name.toLowerCase()].sort().join('')
}

/** `; did you mean "match"?` for a similar name; else the list of names, if short. */
export function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return isShortList(known) ? `; known: ${known.join(', ')}` : ''
}

/** As `hint`, but as a separate sentence: ` Did you mean match?` */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known) ?? beginningWith(name, known)
  if (near !== undefined) return ` Did you mean ${near}?`
  return isShortList(known) ? ` There are: ${known.join(', ')}.` : ''
}

/** The only known name that begins with this word: `confirm-order` for `confirm`. */
function beginningWith(name: string, known: readonly string[]): string | undefined {
  const [found, ...others] = known.filter((one) => name.length > 2 && one.startsWith(`${name}-`))
  return others.length === 0 ? found : undefined
}

/** The names that `didYouMean` suggests: similar ones, the nearest first, or all if there are few. */
export function nearestNames(name: string, known: readonly string[]): string[] {
  const near = nearest(name, known)
  const parts = known.filter((one) => one.includes(name) || (one.length > 2 && name.includes(one)))
  const similar = [...new Set([...(near === undefined ? [] : [near]), ...parts])].slice(0, MOST_SIMILAR)
  if (similar.length > 0) return similar
  return isShortList(known) ? [...known] : []
}

function isShortList(known: readonly string[]): boolean {
  return known.length > 0 && known.length <= LONGEST_LIST
}

/** A name in quotes, shortened to fit a line. */
export function quote(name: string): string {
  return `"${name.length > LONGEST_QUOTE ? `${name.slice(0, LONGEST_QUOTE - 1)}…` : name}"`
}

/** An error text for an unknown name, with a suggestion. */
export function noSuch(kind: string, name: string, known: readonly string[]): string {
  return `there is no ${kind} ${quote(name)}${hint(name, known)}`
}
