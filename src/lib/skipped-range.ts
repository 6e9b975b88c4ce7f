/** A skip of a group: when (Unix ms), and when the first and the last skipped event were published. */
type Skip = { at: number; firstAt?: number; lastAt?: number; until?: number; more?: boolean }

/**
 * The range of the replay that delivers skipped events again, in Unix ms. `until` is not included.
 * Undefined if it is not known. If not all were counted (`more`), it ends with the skip.
 */
export function skippedRange(skip: Skip): { since: number; until: number } | undefined {
  const { firstAt, lastAt, at, more } = skip
  if (firstAt === undefined || lastAt === undefined) return undefined
  return { since: firstAt, until: more ? (skip.until ?? at) : lastAt + 1 }
}
