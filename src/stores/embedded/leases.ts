import type { Leases } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, prepareAll } from './sql.ts'

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
