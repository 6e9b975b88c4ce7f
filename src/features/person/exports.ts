import { z } from 'zod'
import { allKeys } from '../../core/all-keys.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'

/** Key prefix of exports, by their hash. An export is removed when its person is erased. */
const EXPORT_PREFIX = 'person-export:'
const exportSchema = z.object({
  identities: z.array(z.string()),
  sha256: z.string(),
  /** When it was made (Unix ms). */
  at: z.number().optional(),
  file: z.object({ name: z.string(), path: z.string(), size: z.number() }).optional(),
  records: z.number().optional(),
})
type ExportFile = { name: string; path: string; size: number; sha256: string }
/** An export whose file is kept `until` (Unix ms). */
export type KeptExport = { at: number; until: number; records: number; file: ExportFile }

/** How long (ms) the file of an export is kept. */
const FILE_TTL = 7 * DAY
/** How long (ms) an export is remembered: a daemon that was stopped removes its file later. */
const RECORD_TTL = 14 * DAY

/** The files of exports. */
export function createExports(deps: {
  kv: KeyValues
  artifacts: { remove(sha256: string): Promise<void> }
  now(): number
}) {
  const { kv, artifacts, now } = deps

  async function all() {
    const records = await Promise.all((await allKeys(kv, EXPORT_PREFIX)).map(kv.get))
    return records.flatMap((record) => exportSchema.safeParse(record?.value).data ?? [])
  }

  return {
    /** Resolves with the time (Unix ms) until which the file is kept. */
    async add(identities: readonly string[], { sha256, name, path, size }: ExportFile, records: number) {
      const file = { name, path, size }
      const at = now()
      const record = { identities: [...identities], sha256, at, file, records }
      await kv.set(EXPORT_PREFIX + sha256, record, { ttl: RECORD_TTL })
      return at + FILE_TTL
    },
    /** The exports with such an identity whose files are kept, newest first; empty without any. */
    async kept(isWanted: (identity: string) => boolean): Promise<{ exports?: KeptExport[] }> {
      const found = (await all()).flatMap(({ identities, sha256, at = 0, file, records = 0 }) =>
        file && identities.some(isWanted) && now() - at < FILE_TTL
          ? [{ at, until: at + FILE_TTL, records, file: { ...file, sha256 } }]
          : [],
      )
      return found.length === 0 ? {} : { exports: found.toSorted((a, b) => b.at - a.at) }
    },
    /** The hashes of all exports; with `isWanted`, of those with such an identity. */
    async hashes(isWanted?: (identity: string) => boolean): Promise<string[]> {
      const found = await all()
      return found.filter((each) => !isWanted || each.identities.some(isWanted)).map(({ sha256 }) => sha256)
    },
    /** Removes the files of old exports from this data directory. */
    async removeOld(): Promise<void> {
      for (const { sha256, at = now() } of await all())
        if (now() - at > FILE_TTL) await artifacts.remove(sha256)
    },
  }
}
