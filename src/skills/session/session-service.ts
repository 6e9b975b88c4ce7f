import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import {
  type SessionId,
  type SessionService,
  type StateBackend,
  type StateStoreName,
  sessionEntrySchema,
} from '../../core/services.ts'
import { updateKv } from '../../core/update-kv.ts'
import { withEntry } from './entries.ts'

/** What is kept of a session, under a key of its name and its own key. */
const sessionValue = z.object({
  name: z.string(),
  session: z.string(),
  entries: z.array(sessionEntrySchema),
})

const MOST_LISTED = 10_000

/** Session memory over the three stores of keys and values. */
export function createSessionService(backends: Record<StateStoreName, StateBackend>): SessionService {
  return {
    async read(id) {
      return entriesOf((await backends[id.store].get(keyOf(id)))?.value)
    },
    async append(id, entry, { maxEntries, ttl }) {
      await updateKv(backends[id.store], keyOf(id), (current) => {
        const entries = withEntry(entriesOf(current), entry, maxEntries).map((one) => ({ ...one }))
        return { value: { name: id.name, session: id.key, entries }, ttl }
      })
    },
    async delete(id) {
      return { ok: true, existed: await backends[id.store].delete(keyOf(id)) }
    },
    async list(store) {
      const backend = backends[store]
      const found = await Promise.all((await backend.list('', MOST_LISTED)).map((key) => backend.get(key)))
      return found.flatMap((one) => {
        if (!one) return []
        const { name, session, entries } = sessionValue.parse(one.value)
        return [{ name, key: session, entries: entries.length, updatedAt: entries.at(-1)?.at ?? 0 }]
      })
    },
  }
}

function entriesOf(value: Json | undefined) {
  return value === undefined ? [] : sessionValue.parse(value).entries
}

/** Two pairs of name and key never give the same text. */
function keyOf({ name, key }: SessionId): string {
  return JSON.stringify([name, key])
}
