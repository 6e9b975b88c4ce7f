import type { CallService } from '../../core/assistant-services.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'

/** What is known of one call. `unknown`: it ended in an error that does not tell whether it happened. */
export type CallRecord = { key: string; time: string; by: string } & (
  | { state: 'started' }
  | { state: 'done'; result: Json }
  | { state: 'unknown' | 'failed'; error: string }
)

/** Where calls are recorded; durable when a promise resolves. */
export type CallJournal = {
  /**
   * Writes what `work` makes of the record of a call, while nobody else can write it; undefined writes nothing.
   * Returns the record before. `work` must not throw, and may be called again.
   */
  swap(
    key: string,
    work: (found: CallRecord | undefined) => CallRecord | undefined,
  ): Promise<CallRecord | undefined>
  all(): Promise<CallRecord[]>
  close(): Promise<void>
}

/** Nobody knows whether it happened, or it runs right now. */
export function isUnfinished({ state }: CallRecord): boolean {
  return state === 'started' || state === 'unknown'
}

/** How long (ms) a call is remembered. */
export const KEEP_CALLS = 7 * 86_400_000

export type CallLedger = CallService & { close(): Promise<void> }

/**
 * Makes the ledger over a journal. `once` runs a call once for its key, over retries and crashes: later calls with the
 * same key get the recorded result; calls at the same time in this process share one run. Where an earlier one was
 * started and its outcome is not known, it throws `call_unknown` and does not run. After an error that proves that the
 * call did not happen, the next `once` runs again. `by` names this process in the records.
 */
export function createCallLedger(journal: CallJournal, by: string, now: () => number = Date.now): CallLedger {
  const running = new Map<string, Promise<Json>>()
  const entry = (key: string) => ({ key, time: new Date(now()).toISOString(), by })

  const run = async (key: string, call: () => Promise<Json> | Json): Promise<Json> => {
    const mayRun = (found: CallRecord | undefined) => !found || found.state === 'failed'
    const earlier = await journal.swap(key, (found) =>
      mayRun(found) ? { ...entry(key), state: 'started' } : undefined,
    )
    if (earlier?.state === 'done') return earlier.result
    if (earlier && !mayRun(earlier)) throw new TriviumError('call_unknown', { key, time: earlier.time })
    let result: Json
    try {
      result = (await call()) ?? null
    } catch (error) {
      const state = didNotHappen(error) ? 'failed' : 'unknown'
      await journal.swap(key, () => ({ ...entry(key), state, error: reasonOf(error) }))
      throw error
    }
    await journal.swap(key, () => ({ ...entry(key), state: 'done', result }))
    return result
  }

  return {
    once(key, call) {
      const current = running.get(key)
      if (current) return current
      const started = run(key, call).finally(() => running.delete(key))
      running.set(key, started)
      return started
    },
    async unfinished() {
      const calls = await journal.all()
      return calls.filter(isUnfinished).sort((a, b) => (a.time < b.time ? -1 : 1))
    },
    async settle({ key, happened, result }) {
      if (!happened && result !== null)
        throw new TriviumError('usage', { details: 'A call that did not happen has no result.' })
      const isOpen = (found: CallRecord | undefined) => found !== undefined && found.state !== 'done'
      const settled: CallRecord = happened
        ? { ...entry(key), state: 'done', result }
        : { ...entry(key), state: 'failed', error: 'settled: it did not happen' }
      const found = await journal.swap(key, (record) => (isOpen(record) ? settled : undefined))
      if (!isOpen(found)) throw new TriviumError('not_found', { path: `call ${key}` })
      return { ok: true }
    },
    close: () => journal.close(),
  }
}

const BEFORE_ANYTHING_WAS_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const REFUSALS = new Set([
  'send_rejected',
  'forbidden',
  'skill_args_invalid',
  'skill_not_found',
  'rate_limited',
])

/** True where the error comes from before the outside world could have been touched, or is its refusal. */
function didNotHappen(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof TriviumError) return REFUSALS.has(error.code) || didNotHappen(error.cause)
  if ('code' in error && BEFORE_ANYTHING_WAS_SENT.has(String(error.code))) return true
  return didNotHappen(error.cause)
}
