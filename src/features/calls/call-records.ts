import { allKeys } from '../../core/all-keys.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { updateKv } from '../../core/update-kv.ts'

/** A call. `unknown`: it ended with an error that does not show whether the call took effect. */
export type CallRecord = { key: string; time: string; by: string; messageId?: string } & (
  | { state: 'started' }
  | { state: 'done'; result: Json }
  | { state: 'unknown' | 'failed'; error: string }
)

const PREFIX = 'call:'
/** How long known outcomes are kept. */
const RETENTION_MS = 7 * DAY

/** The records of calls, by key. `note` writes each new record to the log and must not throw. */
export function createCallRecords(
  kv: KeyValues,
  note: (record: CallRecord) => Promise<void>,
  now: () => number,
) {
  return {
    /**
     * Replaces a call's record with the one that `change` returns; undefined changes nothing.
     * Resolves with the previous record.
     */
    async swap(key: string, change: (found: CallRecord | undefined) => CallRecord | undefined) {
      let before: CallRecord | undefined
      let next: CallRecord | undefined
      await updateKv(kv, PREFIX + key, (value) => {
        before = value !== undefined && isRecord(value) ? value : undefined
        next = change(before)
        return next && { value: next, ...ttlOf(next) }
      })
      if (next) await note(next)
      return before
    },
    /** Calls that are running or have an unknown outcome, oldest first. */
    async list() {
      const keys = await allKeys(kv, PREFIX)
      const calls = (await Promise.all(keys.map(kv.get))).map((found) => found?.value ?? null)
      return calls
        .filter(isRecord)
        .filter(isUnfinished)
        .sort((a, b) => (a.time < b.time ? -1 : 1))
    },
    /**
     * If the store has no records, because it is new, restores them from the log (newest first).
     */
    async restore(logged: AsyncIterable<Json>) {
      if ((await kv.list(PREFIX, 1)).items.length > 0) return
      const restored = new Set<string>()
      for await (const record of logged) {
        if (!isRecord(record) || restored.has(record.key)) continue
        restored.add(record.key)
        const isOld = Date.parse(record.time) < now() - RETENTION_MS
        if (!isOld || isUnfinished(record))
          await kv.set(PREFIX + record.key, record, { ...ttlOf(record), ifVersion: 0 })
      }
    },
  }
}

/** Calls without a known outcome never expire. */
function ttlOf(record: CallRecord) {
  return isUnfinished(record) ? {} : { ttl: RETENTION_MS }
}

/** Whether a call is running or its outcome is unknown. */
function isUnfinished({ state }: CallRecord): boolean {
  return state === 'started' || state === 'unknown'
}

function isRecord(value: Json): value is Json & CallRecord {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.state === 'string'
}
