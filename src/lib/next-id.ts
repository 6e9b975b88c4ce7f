/** The next id of a kind (`kind-1`, …); increments its counter in `next_ids`. */
export function nextId({ next_ids: counters }: { next_ids: Record<string, number> }, kind: string): string {
  const number = Object.hasOwn(counters, kind) ? (counters[kind] ?? 1) : 1
  counters[kind] = number + 1
  return `${kind}-${number}`
}
