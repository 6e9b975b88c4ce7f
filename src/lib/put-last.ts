/** Puts an entry last in a map of at most `limit`, and drops the first if there are more: the longest unused. */
export function putLast<K, V>(map: Map<K, V>, key: K, value: V, limit: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= limit) return
    map.delete(oldest)
  }
}
