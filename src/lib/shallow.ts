/**
 * Whether parsed JSON is nested at most `limit` deep. Deeper values overflow the stack of
 * validators and serialisers.
 */
export function isShallow(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return false
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return true
}
