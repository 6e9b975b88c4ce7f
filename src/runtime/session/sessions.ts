import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import { type Json, toJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { createRecordReader } from '../../core/record-reader.ts'
import { type SessionId, type SessionMemory, sessionEntrySchema } from '../../core/session.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import { updateKv } from '../../core/update-kv.ts'
import { headOf } from '../../lib/head-of.ts'
import { type sessions, storeName } from '../operations.ts'
import { MAX_TEXT } from './render-history.ts'
import { withEntry } from './session-entries.ts'

/** The stored value of a session, with the parts of its key. Fields of a newer version stay. */
const sessionValue = z.looseObject({
  name: z.string(),
  session: z.string(),
  entries: z.array(sessionEntrySchema.loose()),
})

/** Session memory in files, in memory, or in the shared store. */
export function createSessionService(
  backends: Record<StateStoreName, StateBackend>,
  log: Pick<Log, 'warn'>,
): SessionMemory & ServiceOf<typeof sessions> {
  const records = createRecordReader('sessions', sessionValue, log)
  /** A stored session, with its entries oldest first. */
  const read = (id: SessionId, value: Json | undefined) =>
    value === undefined
      ? { name: id.name, session: id.key, entries: [] }
      : records.require(`session ${id.name} ${id.key}`, value)
  return {
    async read(id) {
      return read(id, (await backends[id.store].get(keyOf(id)))?.value).entries
    },
    async append(id, entry, { ttl, ...limits }) {
      await updateKv(backends[id.store], keyOf(id), (current) => {
        const before = read(id, current)
        return { value: toJson({ ...before, entries: withEntry(before.entries, entry, limits) }), ttl }
      })
    },
    async compact(id, until, summary, ttl) {
      const value = await updateKv(backends[id.store], keyOf(id), (current) => {
        const before = read(id, current)
        const newest = before.entries.at(-1)
        const [oldest, ...rest] = before.entries.filter((one) => one.at > until || one === newest)
        // A concurrent run may have replaced the entries by a summary already.
        const isDone = rest.length + 1 === before.entries.length
        if (!oldest || isDone) return undefined
        const { dropped: _, ...kept } = oldest
        const entries = [{ ...kept, summary: headOf(summary, MAX_TEXT) }, ...rest]
        return { value: toJson({ ...before, entries }), ttl }
      })
      return read(id, value).entries
    },
    async delete({ name, key, store }) {
      const deleted = storesOf(store).map((one) => backends[one].delete(keyOf({ name, key })))
      return { ok: true, existed: (await Promise.all(deleted)).includes(true) }
    },
    async list({ store: only }) {
      const lists = storesOf(only).map(async (store) => {
        const keys = await allKeys(backends[store], '')
        const values = await Promise.all(
          keys.map(async (key) => records.read(key, (await backends[store].get(key))?.value)),
        )
        return values.flatMap((found) => {
          if (!found) return []
          const { name, session, entries } = found
          const updatedAt = entries.at(-1)?.at ?? 0
          return [{ name, key: session, entries: entries.length, updatedAt, store }]
        })
      })
      return (await Promise.all(lists)).flat()
    },
  }
}

const storesOf = (only?: StateStoreName) => (only === undefined ? storeName.options : [only])

/** Unique for each pair of name and key. */
function keyOf({ name, key }: Omit<SessionId, 'store'>): string {
  return JSON.stringify([name, key])
}
