import { isJsonObject, type Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'

/** Record of a call. `unknown`: it ended with an error that does not show whether it took effect. */
export type CallRecord = { key: string; time: string; by: string; messageId?: string } & (
  | { state: 'started' }
  | { state: 'done'; result: Json }
  | { state: 'unknown' | 'failed'; error: string }
)

const PREFIX = 'call:'
/** How long (ms) outcomes are kept. */
const KEEP_CALLS = 7 * 86_400_000

/** The records of calls on the store. `note` logs each record and must not throw. */
export function createCallRecords(
  kv: KeyValues,
  note: (record: CallRecord) => Promise<void>,
  now: () => number,
) {
  return {
    /** Replaces a call's record with the result of `work`; undefined writes nothing. Returns the previous record. */
    async swap(key: string, work: (found: CallRecord | undefined) => CallRecord | undefined) {
      let before: CallRecord | undefined
      let next: CallRecord | undefined
      await updateKv(kv, PREFIX + key, (value) => {
        before = value !== undefined && isRecord(value) ? value : undefined
        next = work(before)
        return next && { value: next, ...kept(next) }
      })
      if (next) await note(next)
      return before
    },
    /** Those that are running or have an unknown outcome, oldest first. */
    async list() {
      const keys = await kv.list(PREFIX, Number.MAX_SAFE_INTEGER)
      const calls = (await Promise.all(keys.map(kv.get))).map((found) => found?.value ?? null)
      return calls
        .filter(isRecord)
        .filter(isUnfinished)
        .sort((a, b) => (a.time < b.time ? -1 : 1))
    },
    /** Restores logged records (newest first) if the store has none, because it is new or was lost. */
    async restore(noted: AsyncIterable<Json>) {
      if ((await kv.list(PREFIX, 1)).length > 0) return
      const newest = new Set<string>()
      for await (const record of noted) {
        if (!isRecord(record) || newest.has(record.key)) continue
        newest.add(record.key)
        const isOld = Date.parse(record.time) < now() - KEEP_CALLS
        if (!isOld || isUnfinished(record))
          await kv.set(PREFIX + record.key, record, { ...kept(record), ifVersion: 0 })
      }
    },
  }
}

/** Calls with an unknown outcome never expire. */
function kept(record: CallRecord) {
  return isUnfinished(record) ? {} : { ttl: KEEP_CALLS }
}

/** Whether a call is running or its outcome is unknown. */
function isUnfinished({ state }: CallRecord): boolean {
  return state === 'started' || state === 'unknown'
}

function isRecord(value: Json): value is Json & CallRecord {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.state === 'string'
}
