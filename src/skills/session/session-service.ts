import type { SessionId, SessionService, StateStoreName } from '../../core/services.ts'
import { appendEntry, type SessionStore } from './session-store.ts'

/** Session memory over its three stores. */
export type Sessions = SessionService & {
  /** Removes what has expired. Call it now and then. */
  sweep(): Promise<void>
  close(): void
}

export function createSessionService(
  stores: Record<StateStoreName, SessionStore>,
  now: () => number,
): Sessions {
  return {
    async read(id) {
      const found = await stores[id.store].read(keyOf(id))
      return found && found.expires_at > now() ? found.entries : []
    },
    async append(id, entry, { maxEntries, ttl }) {
      const key = keyOf(id)
      const names = { key, name: id.name, session: id.key }
      await stores[id.store].update(key, (current) =>
        appendEntry(current, names, entry, { maxEntries, ttl, now: now() }),
      )
    },
    async delete(id) {
      return { ok: true, existed: await stores[id.store].delete(keyOf(id)) }
    },
    async list(store) {
      const live = (await stores[store].all()).filter((doc) => doc.expires_at > now())
      return live.map((doc) => ({
        name: doc.name,
        key: doc.session,
        entries: doc.entries.length,
        updatedAt: doc.updated_at,
      }))
    },
    async sweep() {
      for (const store of [stores.memory, stores.file]) {
        const expired = (await store.all()).filter((doc) => doc.expires_at <= now())
        await Promise.all(expired.map((doc) => store.delete(doc.key)))
      }
    },
    close() {
      for (const store of Object.values(stores)) store.close()
    },
  }
}

/** Two pairs of name and key never give the same text. */
function keyOf({ name, key }: SessionId): string {
  return JSON.stringify([name, key])
}
