import type { KeyValues } from '../../core/store.ts'
import { LEASES } from '../shared/leases.ts'
import type { Parts } from './parts.ts'
import { int, text } from './sql.ts'

/**
 * Keys and values. Versions come from one counter, so that none comes back after a delete. With one process at a time
 * on the store, whoever held a lease when it opens is dead, so all are free at start.
 */
export function createKeyValues({ sql, writer, counters, signals, now, read }: Parts): KeyValues {
  sql('DELETE FROM kv WHERE key BETWEEN ? AND ?').run(LEASES, `${LEASES}\u{10ffff}`)
  const find = (key: string) => {
    const row = sql('SELECT value, version FROM kv WHERE key = ? AND (expires IS NULL OR expires > ?)').get(
      key,
      now(),
    )
    return row && { value: JSON.parse(text(row.value)), version: int(row.version) }
  }
  return {
    get: (key) => read(() => find(key)),
    set: (key, value, { ttl, ifVersion } = {}) =>
      writer.write(() => {
        if (ifVersion !== undefined && (find(key)?.version ?? 0) !== ifVersion) return undefined
        const version = counters.set('kv', Math.max(counters.get('kv') + 1, now()))
        const expires = ttl === undefined ? null : now() + ttl
        sql('INSERT OR REPLACE INTO kv (key, value, version, expires) VALUES (?, ?, ?, ?)').run(
          key,
          JSON.stringify(value),
          version,
          expires,
        )
        signals.raise(`kv:${key}`)
        return version
      }),
    delete: (key) =>
      writer.write(() => {
        const remove = sql('DELETE FROM kv WHERE key = ? AND (expires IS NULL OR expires > ?)')
        const existed = remove.run(key, now()).changes > 0
        if (existed) signals.raise(`kv:${key}`)
        return existed
      }),
    list: (prefix, limit) =>
      read(() =>
        sql(`SELECT key FROM kv WHERE key >= ? AND key < ? AND (expires IS NULL OR expires > ?)
          ORDER BY key LIMIT ? + 0`)
          .all(prefix, `${prefix}\u{10ffff}\u{10ffff}`, now(), limit)
          .map((row) => text(row.key)),
      ),
  }
}
