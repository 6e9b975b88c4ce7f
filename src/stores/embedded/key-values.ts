import type { KeyValues } from '../../core/store.ts'
import { LEASES } from '../shared/leases.ts'
import { storable } from '../shared/values.ts'
import type { Parts } from './parts.ts'

/**
 * Key-value pairs and leases. All versions come from one counter, so a key that was deleted gets
 * new versions. One process owns the store, so its start frees all leases.
 */
export function createKeyValues({ sql, writer, counters, signals, now, read }: Parts): KeyValues {
  sql.run`DELETE FROM kv WHERE key BETWEEN ${LEASES} AND ${`${LEASES}\u{10ffff}`}`
  const find = (key: string) => {
    const row = sql.get<{ value: string; version: number }>`SELECT value, version FROM kv
      WHERE key = ${key} AND (expires IS NULL OR expires > ${now()})`
    return row && { value: JSON.parse(row.value), version: row.version }
  }
  const expiryOf = (key: string) =>
    sql.get<{ expires: number | null }>`SELECT expires FROM kv WHERE key = ${key} AND expires > ${now()}`
      ?.expires ?? null
  return {
    get: (key) => read(() => find(key)),
    set: (key, value, { ttl, ifVersion, keepTtl } = {}) =>
      writer.write(() => {
        if (ifVersion !== undefined && (find(key)?.version ?? 0) !== ifVersion) return undefined
        const version = counters.set('kv', Math.max(counters.get('kv') + 1, now()))
        const expires = ttl === undefined ? (keepTtl ? expiryOf(key) : null) : now() + storable(ttl)
        sql.run`INSERT OR REPLACE INTO kv (key, value, version, expires)
          VALUES (${key}, ${JSON.stringify(value)}, ${version}, ${expires})`
        signals.raise(`kv:${key}`)
        return version
      }),
    delete: (key) =>
      writer.write(() => {
        const existed =
          sql.run`DELETE FROM kv WHERE key = ${key} AND (expires IS NULL OR expires > ${now()})` > 0
        if (existed) signals.raise(`kv:${key}`)
        return existed
      }),
    list: (prefix, limit, after = '') =>
      read(() => {
        const rows = sql.all<{ key: string }>`SELECT key FROM kv
          WHERE key >= ${prefix} AND key > ${after} AND key < ${`${prefix}\u{10ffff}\u{10ffff}`}
            AND (expires IS NULL OR expires > ${now()})
          ORDER BY key LIMIT ${limit} + 1`
        return { items: rows.slice(0, limit).map(({ key }) => key), more: rows.length > limit }
      }),
  }
}
