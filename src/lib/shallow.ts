/** Whether parsed JSON is nested at most `limit` deep: deeper, it overflows the stack of whoever validates or writes it later. */
export function isShallow(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return false
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []))
  }
  return true
}
