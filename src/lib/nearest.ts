import { closest, distance } from 'fastest-levenshtein'

/** The most similar known name; undefined if none is similar. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || name.length > 100) return undefined
  // Swapped letters are the most common typo, and would count as two edits.
  const swapped = known.find((one) => lettersOf(one) === lettersOf(name))
  const found = swapped ?? closest(name.toLowerCase(), [...known])
  const limit = Math.max(1, Math.ceil(name.length / 3))
  return distance(name.toLowerCase(), found.toLowerCase()) <= limit ? found : undefined
}

function lettersOf(name: string): string {
  return [...name.toLowerCase()].sort().join('')
}

/** `; did you mean "match"?` for a similar name; else the list of names, if short. */
export function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length > 0 && known.length <= 12 ? `; known: ${known.join(', ')}` : ''
}

/** The same as a separate sentence. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return ` Did you mean ${near}?`
  return known.length > 0 && known.length <= 12 ? ` There are: ${known.join(', ')}.` : ''
}

/** A name in quotes, shortened to fit a line. */
export function quote(name: string): string {
  return `"${name.length > 60 ? `${name.slice(0, 59)}…` : name}"`
}

/** An error text for an unknown name, with a suggestion. */
export function noSuch(kind: string, name: string, known: readonly string[]): string {
  return `there is no ${kind} ${quote(name)}${hint(name, known)}`
}
