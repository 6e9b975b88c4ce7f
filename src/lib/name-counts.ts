/** Adds to the count of a name that comes from outside, which may be `constructor`. */
export function addCount(counts: Record<string, number>, name: string, by = 1): void {
  counts[name] = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + by
}
