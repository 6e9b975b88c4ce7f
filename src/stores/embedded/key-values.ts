import type { KeyValues, Leases } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, prepareAll, text } from './sql.ts'

/** Keys and values. Versions come from one counter, so that none comes back after a delete. */
export function createKeyValues({ db, writer, counters, signals, now, read }: Parts): KeyValues {
  const sql = prepareAll(db, 'kv.sql')
  const versionOf = (key: string) => {
    const row = sql('get').get(key, now())
    return row ? int(row.version) : 0
  }
  return {
    get: (key) =>
      read(() => {
        const row = sql('get').get(key, now())
        return row && { value: JSON.parse(text(row.value)), version: int(row.version) }
      }),
    set: (key, value, { ttl, ifVersion } = {}) =>
      writer.write(() => {
        if (ifVersion !== undefined && versionOf(key) !== ifVersion) return undefined
        const version = counters.add('kv', 1)
        sql('set').run(key, JSON.stringify(value), version, ttl === undefined ? null : now() + ttl)
        signals.raise(`kv:${key}`)
        return version
      }),
    delete: (key) =>
      writer.write(() => {
        const existed = sql('delete').run(key, now()).changes > 0
        if (existed) signals.raise(`kv:${key}`)
        return existed
      }),
    list: (prefix, limit) =>
      read(() =>
        sql('list')
          .all(prefix, `${prefix}\u{10ffff}\u{10ffff}`, now(), limit)
          .map((row) => text(row.key)),
      ),
  }
}

/**
 * Named leases. With one process at a time on the store, whoever held a lease when it opens is dead, so
 * all are free at start.
 */
export function createLeases({ db, writer, now }: Parts): Leases {
  const sql = prepareAll(db, 'kv.sql')
  sql('abandon').run()
  return {
    acquire: (name, owner, ttl) =>
      writer.write(() => {
        const row = sql('lease').get(name)
        const live = row !== undefined && int(row.until) > now()
        if (live && row.owner !== owner) return undefined
        const last = row ? int(row.token) : 0
        const token = live ? last : last + 1
        sql('hold').run(name, owner, token, now() + ttl)
        return { token }
      }),
    release: (name, owner) =>
      writer.write(() => {
        sql('release').run(name, owner)
      }),
  }
}
