import { reasonOf, TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json } from '../../core/json.ts'
import type { CallService } from '../../core/services.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import { defined } from '../../lib/defined.ts'

/** Record of a call. `unknown`: it ended with an error that does not show whether it took effect. */
export type CallRecord = { key: string; time: string; by: string; messageId?: string } & (
  | { state: 'started' }
  | { state: 'done'; result: Json }
  | { state: 'unknown' | 'failed'; error: string }
)

const PREFIX = 'call:'
/** How long (ms) outcomes are kept. */
const KEEP_CALLS = 7 * 86_400_000

/** The ledger shared by all daemons of a store. `by`: this process; `note` logs each record and must not throw. */
export function createCallLedger(deps: {
  kv: KeyValues
  by: string
  note(record: CallRecord): Promise<void>
  now: () => number
}) {
  const { kv, by, note, now } = deps
  const running = new Map<string, Promise<Json>>()
  const entry = (key: string, messageId?: string) => entryOf(key, by, now(), messageId)

  /** Calls with an unknown outcome never expire. */
  const kept = (record: CallRecord) => (isUnfinished(record) ? {} : { ttl: KEEP_CALLS })
  /** Replaces a call's record with the result of `work`; undefined writes nothing. Returns the previous record. */
  const swap = async (key: string, work: (found: CallRecord | undefined) => CallRecord | undefined) => {
    let before: CallRecord | undefined
    let next: CallRecord | undefined
    await updateKv(kv, PREFIX + key, (value) => {
      before = value !== undefined && isRecord(value) ? value : undefined
      next = work(before)
      return next && { value: next, ...kept(next) }
    })
    if (next) await note(next)
    return before
  }

  const run = async (key: string, call: () => Promise<Json> | Json, messageId?: string): Promise<Json> => {
    const mayRun = (found: CallRecord | undefined) => !found || found.state === 'failed'
    const earlier = await swap(key, (found) =>
      mayRun(found) ? { ...entry(key, messageId), state: 'started' } : undefined,
    )
    if (earlier?.state === 'done') return earlier.result
    if (earlier && !mayRun(earlier)) throw new TriviumError('call_unknown', { key, time: earlier.time })
    let result: Json
    try {
      result = (await call()) ?? null
    } catch (error) {
      const state = didNotHappen(error) ? 'failed' : 'unknown'
      await swap(key, () => ({ ...entry(key, messageId), state, error: reasonOf(error) }))
      throw error
    }
    await swap(key, () => ({ ...entry(key, messageId), state: 'done', result }))
    return result
  }

  return {
    // Concurrent calls in this process share one run.
    once(key, call, messageId?: string) {
      const current = running.get(key)
      if (current) return current
      const started = run(key, call, messageId).finally(() => running.delete(key))
      running.set(key, started)
      return started
    },
    async list() {
      const keys = await kv.list(PREFIX, Number.MAX_SAFE_INTEGER)
      const calls = (await Promise.all(keys.map(kv.get))).map((found) => found?.value ?? null)
      return calls
        .filter(isRecord)
        .filter(isUnfinished)
        .sort((a, b) => (a.time < b.time ? -1 : 1))
    },
    async settle({ key, happened, result }) {
      const isOpen = (found: CallRecord | undefined) => found !== undefined && found.state !== 'done'
      const settled: CallRecord = happened
        ? { ...entry(key), state: 'done', result }
        : { ...entry(key), state: 'failed', error: 'settled: it did not happen' }
      const found = await swap(key, (record) => (isOpen(record) ? settled : undefined))
      if (!isOpen(found)) throw new TriviumError('not_found', { path: `call ${key}` })
      return { ok: true }
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
  } satisfies CallService & Record<'restore', unknown>
}

/** Whether a call is running or its outcome is unknown. */
function entryOf(key: string, by: string, now: number, messageId: string | undefined) {
  return { key, time: new Date(now).toISOString(), by, ...defined({ messageId }) }
}

function isUnfinished({ state }: CallRecord): boolean {
  return state === 'started' || state === 'unknown'
}

function isRecord(value: Json): value is Json & CallRecord {
  return isJsonObject(value) && typeof value.key === 'string' && typeof value.state === 'string'
}

/** Error codes from before anything was sent. */
const BEFORE_SENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/
const REFUSED = /^(send_rejected|forbidden|skill_args_invalid|skill_not_found|rate_limited)$/

/** True if the error occurred before any external effect, or is a refusal. */
function didNotHappen(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  return BEFORE_SENT.test(code) || REFUSED.test(code) || didNotHappen(error.cause)
}
