import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import type { Json } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { type SessionId, type SessionMemory, sessionEntrySchema } from '../../core/session.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import { updateKv } from '../../core/update-kv.ts'
import { headOf } from '../../lib/head-of.ts'
import { type sessions, storeName } from '../operations.ts'
import { MAX_TEXT } from './render-history.ts'
import { withEntry } from './session-entries.ts'

/** The stored value of a session, with the parts of its key. */
const sessionValue = z.object({
  name: z.string(),
  session: z.string(),
  entries: z.array(sessionEntrySchema),
})

/** Session memory in files, in memory, or in the shared store. */
export function createSessionService(
  backends: Record<StateStoreName, StateBackend>,
): SessionMemory & ServiceOf<typeof sessions> {
  return {
    async read(id) {
      return entriesOf((await backends[id.store].get(keyOf(id)))?.value)
    },
    async append(id, entry, { ttl, ...limits }) {
      await updateKv(backends[id.store], keyOf(id), (current) => {
        const entries = withEntry(entriesOf(current), entry, limits).map((one) => ({ ...one }))
        return { value: { name: id.name, session: id.key, entries }, ttl }
      })
    },
    async compact(id, until, summary, ttl) {
      const value = await updateKv(backends[id.store], keyOf(id), (current) => {
        const before = entriesOf(current)
        const [oldest, ...rest] = before.filter(({ at }, index) => at > until || index === before.length - 1)
        // A concurrent run may have summarised them already.
        const isDone = rest.length + 1 === before.length
        if (!oldest || isDone) return undefined
        const { dropped: _, ...kept } = oldest
        return {
          value: {
            name: id.name,
            session: id.key,
            entries: [{ ...kept, summary: headOf(summary, MAX_TEXT) }, ...rest],
          },
          ttl,
        }
      })
      return entriesOf(value)
    },
    async delete({ name, key, store }) {
      const deleted = storesOf(store).map((one) => backends[one].delete(keyOf({ name, key })))
      return { ok: true, existed: (await Promise.all(deleted)).includes(true) }
    },
    async list({ store: only }) {
      const lists = storesOf(only).map(async (store) => {
        const keys = await allKeys(backends[store], '')
        return (await Promise.all(keys.map(backends[store].get))).flatMap((found) => {
          if (!found) return []
          const { name, session, entries } = sessionValue.parse(found.value)
          const updatedAt = entries.at(-1)?.at ?? 0
          return [{ name, key: session, entries: entries.length, updatedAt, store }]
        })
      })
      return (await Promise.all(lists)).flat()
    },
  }
}

const storesOf = (only?: StateStoreName) => (only === undefined ? storeName.options : [only])

/** The entries of a stored session, oldest first; `[]` without a value. */
function entriesOf(value: Json | undefined) {
  return value === undefined ? [] : sessionValue.parse(value).entries
}

/** Unique for each pair of name and key. */
function keyOf({ name, key }: Omit<SessionId, 'store'>): string {
  return JSON.stringify([name, key])
}
