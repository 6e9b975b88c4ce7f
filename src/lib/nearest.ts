import { closest, distance } from 'fastest-levenshtein'

/** The name that was most likely meant, or undefined where none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0 || name.length > 100) return undefined
  // Letters in another order are the commonest slip, and count as two otherwise.
  const swapped = known.find((one) => lettersOf(one) === lettersOf(name))
  const found = swapped ?? closest(name.toLowerCase(), [...known])
  const limit = Math.max(1, Math.ceil(name.length / 3))
  return distance(name.toLowerCase(), found.toLowerCase()) <= limit ? found : undefined
}

function lettersOf(name: string): string {
  return [...name.toLowerCase()].sort().join('')
}

/** `; did you mean "match"?` where a name is near; else which names there are, if few. */
export function hint(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return `; did you mean "${near}"?`
  return known.length > 0 && known.length <= 12 ? `; known: ${known.join(', ')}` : ''
}

/** The same as a sentence of its own, to follow another. */
export function didYouMean(name: string, known: readonly string[]): string {
  const near = nearest(name, known)
  if (near !== undefined) return ` Did you mean ${near}?`
  return known.length > 0 && known.length <= 12 ? ` There are: ${known.join(', ')}.` : ''
}

/** A name in quotes, cut to what fits a line. */
export function quote(name: string): string {
  return `"${name.length > 60 ? `${name.slice(0, 59)}…` : name}"`
}

/** Says that nothing of a kind has that name, and which one was meant. */
export function noSuch(kind: string, name: string, known: readonly string[]): string {
  return `there is no ${kind} ${quote(name)}${hint(name, known)}`
}
