import { z } from 'zod'
import type { SessionEntry } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import { createJsonFolder } from '../files/json-folder.ts'
import { updateKv } from '../update-kv.ts'

const VERSION = 1

/** A file under `<data dir>/sessions/`, and what the other stores keep. Times are Unix ms. */
const sessionDocument = z.object({
  schema_version: z.literal(VERSION),
  /** `name` and `session` in one: what the document is found by. */
  key: z.string(),
  name: z.string(),
  session: z.string(),
  updated_at: z.number(),
  expires_at: z.number(),
  entries: z.array(
    z.object({
      at: z.number(),
      args: z.json().exactOptional(),
      result: z.json().exactOptional(),
      agent: z.json().exactOptional(),
      values: z.record(z.string(), z.json()).exactOptional(),
    }),
  ),
})

export type SessionDocument = z.infer<typeof sessionDocument>

/** Keeps session documents. `change` gets what is there, and no two changes of one key overlap. */
export type SessionStore = {
  read(key: string): Promise<SessionDocument | undefined>
  update(key: string, change: (current: SessionDocument | undefined) => SessionDocument): Promise<void>
  delete(key: string): Promise<boolean>
  all(): Promise<SessionDocument[]>
  close(): void
}

/** An empty document with an entry added to what was there; the oldest beyond `maxEntries` go. */
export function appendEntry(
  current: SessionDocument | undefined,
  id: { key: string; name: string; session: string },
  entry: SessionEntry,
  limits: { maxEntries: number; ttl: number; now: number },
): SessionDocument {
  const live = current && current.expires_at > limits.now ? current.entries : []
  return {
    schema_version: VERSION,
    ...id,
    updated_at: limits.now,
    expires_at: limits.now + limits.ttl,
    entries: [...live, entry].slice(-limits.maxEntries),
  }
}

/** In a Map of this process, the one that `ctx.globals.sessions` is. */
export function createMemorySessions(documents: Map<string, SessionDocument> = new Map()): SessionStore {
  return {
    read: async (key) => documents.get(key),
    async update(key, change) {
      documents.set(key, change(documents.get(key)))
    },
    delete: async (key) => documents.delete(key),
    all: async () => [...documents.values()],
    close: () => documents.clear(),
  }
}

export function createFileSessions(path: string): SessionStore {
  const folder = createJsonFolder({ path, version: VERSION, schema: sessionDocument })
  return {
    read: folder.read,
    update: (key, change) => folder.update(key, (current) => ({ write: change(current), result: undefined })),
    delete: (key) =>
      folder.update(key, (current) => ({
        ...(current ? { write: null } : {}),
        result: current !== undefined,
      })),
    all: folder.all,
    close: folder.close,
  }
}

const PREFIX = 'session:'

/** On the message store, by compare-and-set. */
export function createSharedSessions({ kv }: Pick<Store, 'kv'>, now: () => number): SessionStore {
  const read = async (key: string) => {
    const entry = await kv.get(PREFIX + key)
    return entry && sessionDocument.parse(entry.value)
  }
  return {
    read,
    async update(key, change) {
      await updateKv(kv, PREFIX + key, (current) => {
        const value = change(current === undefined ? undefined : sessionDocument.parse(current))
        return { value, ttl: Math.max(1, value.expires_at - now()) }
      })
    },
    delete: (key) => kv.delete(PREFIX + key),
    async all() {
      const keys = await kv.list(PREFIX, 10_000)
      const found = await Promise.all(keys.map((key) => read(key.slice(PREFIX.length))))
      return found.filter((one) => one !== undefined)
    },
    close() {},
  }
}
