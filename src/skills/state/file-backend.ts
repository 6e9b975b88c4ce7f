import { z } from 'zod'
import { isJsonObject } from '../../core/json.ts'
import { createJsonFolder } from '../files/json-folder.ts'
import type { StateBackend } from './state-service.ts'

const VERSION = 1

const current = z.object({
  schema_version: z.literal(VERSION),
  key: z.string(),
  value: z.json(),
  version: z.number().int().positive(),
  updated_at: z.number(),
  expires_at: z.number().exactOptional(),
})

/** A file under `<data dir>/state/` or `<data dir>/sessions/`. Times are Unix ms. */
const stateDocument = z.preprocess(withValue, current)

type StateDocument = z.infer<typeof current>

/** One JSON file a key in `path`; survives restarts, and is safe between processes. */
export function createFileBackend(path: string, now: () => number): StateBackend {
  const folder = createJsonFolder({ path, version: VERSION, schema: stateDocument })
  const live = (doc: StateDocument | undefined) =>
    doc && (doc.expires_at === undefined || doc.expires_at > now()) ? doc : undefined

  return {
    async get(key) {
      const doc = live(await folder.read(key))
      return doc && { value: doc.value, version: doc.version }
    },
    set: (key, value, { ttl, ifVersion }) =>
      folder.update(key, (current) => {
        const version = live(current)?.version ?? 0
        if (ifVersion !== undefined && ifVersion !== version) return { result: undefined }
        const write: StateDocument = {
          schema_version: VERSION,
          key,
          value,
          version: version + 1,
          updated_at: now(),
          ...(ttl === undefined ? {} : { expires_at: now() + ttl }),
        }
        return { write, result: write.version }
      }),
    delete: (key) =>
      folder.update(key, (current) => ({
        ...(current ? { write: null } : {}),
        result: live(current) !== undefined,
      })),
    async list(prefix, limit) {
      const docs = (await folder.all()).filter((doc) => live(doc) && doc.key.startsWith(prefix))
      return docs
        .map(({ key }) => key)
        .sort()
        .slice(0, limit)
    },
    onChange: (_key, listener) => folder.onChange(listener),
    async sweep() {
      for (const { key } of (await folder.all()).filter((doc) => !live(doc))) {
        // Somebody may have written it meanwhile: look again under the lock.
        await folder.update(key, (current) => ({
          ...(current && !live(current) ? { write: null } : {}),
          result: undefined,
        }))
      }
    },
    close: folder.close,
  }
}

/** Trivium 0.1 kept a session without `value` around it. */
function withValue(document: unknown): unknown {
  if (!isJsonObject(document) || !('entries' in document)) return document
  const { name, session, entries, ...rest } = document
  return { ...rest, version: 1, value: { name, session, entries } }
}
