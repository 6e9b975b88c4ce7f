/** Maximum length of a compared identity: longer ones would take too long. */
const LONGEST_COMPARED = 100
/** Maximum number of different letters, and of those of another name before the `@`, if it is short. */
const MOST_EDITS = 2
const MOST_EDITS_OF_SHORT = 1
const LONGEST_SHORT = 5

/**
 * The known address or identity that differs from this one by a typo: what may be erased next must
 * not be somebody else at the same domain.
 */
export function similarPerson(given: string, known: readonly string[]): string | undefined {
  if (given.length > LONGEST_COMPARED) return undefined
  const wanted = given.toLowerCase()
  const name = nameIn(wanted)
  const most = (other: string) =>
    name.length > LONGEST_SHORT || nameIn(other) === name ? MOST_EDITS : MOST_EDITS_OF_SHORT
  const near = known
    .filter((one) => Math.abs(one.length - given.length) <= MOST_EDITS)
    .map((one) => ({ one, other: one.toLowerCase() }))
    .map(({ one, other }) => ({ one, other, edits: editsBetween(wanted, other) }))
    .filter(({ other, edits }) => edits > 0 && edits <= most(other))
    .sort((a, b) => a.edits - b.edits)
  return near[0]?.one
}

/** The name before the `@` of an address, with or without its gateway. */
function nameIn(identity: string): string {
  return identity.replace(/^[^:@]*:/, '').replace(/@.*/s, '')
}

/** The number of letters that are added, left out or replaced. The console has no package for it. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at)
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1]
    for (let to = 0; to < other.length; to++) {
      const [left = 0, above = 0, before = 0] = [next[to], row[to + 1], row[to]]
      next.push(Math.min(left + 1, above + 1, before + (letter === other[to] ? 0 : 1)))
    }
    row = next
  }
  return row[other.length] ?? 0
}
