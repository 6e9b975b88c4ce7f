import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { isRefusedTo } from '../../core/paused-skill.ts'
import type { Calls } from '../../core/services.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { neverConnected } from '../../lib/never-connected.ts'
import { type CallRecord, createCallRecords } from './call-records.ts'
import type * as operations from './operations.ts'

/**
 * The ledger of calls with external effects, shared by all daemons of a store. A call that
 * succeeded does not run again, nor does one with an unknown outcome.
 */
export function createCallLedger(deps: {
  kv: KeyValues
  /** The name of this process. */
  by: string
  /** Writes each new record to the log. Must not throw. */
  note(record: CallRecord): Promise<void>
  now: () => number
}) {
  const { kv, by, note, now } = deps
  const records = createCallRecords(kv, note, now)
  const { swap } = records
  const running = new Map<string, Promise<Json>>()
  const entry = (key: string, messageId?: string) => entryOf(key, by, now(), messageId)

  /** Throws `call_unknown` if an earlier run has no known outcome, and the errors of `call`. */
  const run = async (key: string, call: () => Promise<Json> | Json, messageId?: string): Promise<Json> => {
    const mayRun = (found: CallRecord | undefined) => !found || found.state === 'failed'
    const earlier = await swap(key, (found) =>
      mayRun(found) ? { ...entry(key, messageId), state: 'started' } : undefined,
    )
    if (earlier?.state === 'done') return earlier.result
    if (earlier && !mayRun(earlier)) throw new TriviumError('call_unknown', { key, time: earlier.time })
    let result: Json
    const isSameTurn = turn()
    try {
      result = (await call()) ?? null
    } catch (error) {
      const skill = key.split('/', 1)[0] ?? ''
      const isHeld = isSameTurn() && isRefusedTo(skill, error)
      const state = didNotHappen(error) || isHeld ? 'failed' : 'unknown'
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
    list: records.list,
    async settle({ key, happened, result }) {
      const isOpen = (found: CallRecord | undefined) => found !== undefined && found.state !== 'done'
      const settled: CallRecord = happened
        ? { ...entry(key), state: 'done', result }
        : { ...entry(key), state: 'failed', error: 'settled: it did not happen' }
      const found = await swap(key, (record) => (isOpen(record) ? settled : undefined))
      if (!isOpen(found)) throw new TriviumError('not_found', { path: `call ${key}` })
      return { ok: true }
    },
    restore: records.restore,
  } satisfies Calls & ServiceOf<typeof operations.calls> & Record<'restore', unknown>
}

function entryOf(key: string, by: string, now: number, messageId: string | undefined) {
  return { key, time: new Date(now).toISOString(), by, ...defined({ messageId }) }
}

/**
 * Returns a function that tells whether this is still the same turn of the event loop. A call that was
 * refused in the turn in which it began had no answer of anything outside before.
 */
function turn(): () => boolean {
  let isSame = true
  setImmediate(() => {
    isSame = false
  })
  return () => isSame
}

/** Error codes of refusals. */
const REFUSED = /^(send_rejected|forbidden|skill_args_invalid|skill_not_found|rate_limited)$/

/** True if the error occurred before any external effect, or is a refusal. */
function didNotHappen(error: unknown): boolean {
  if (neverConnected(error)) return true
  if (!(error instanceof Error)) return false
  return ('code' in error && REFUSED.test(String(error.code))) || didNotHappen(error.cause)
}
