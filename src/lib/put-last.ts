/**
 * Moves an entry to the end of a map, and drops the first (least recently used) entry above
 * `limit`.
 */
export function putLast<K, V>(map: Map<K, V>, key: K, value: V, limit: number): void {
  map.delete(key)
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= limit) return
    map.delete(oldest)
  }
}
