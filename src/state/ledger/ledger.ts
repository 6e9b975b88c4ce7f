import type { CallService } from '../../core/assistant-services.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Json } from '../../core/json.ts'

/** How a call ended. `unknown`: in an error that does not tell whether it happened. */
export type CallOutcome =
  | { state: 'done'; result: Json }
  | { state: 'unknown'; error: string }
  | { state: 'failed'; error: string }

/** What is known of one call. */
export type CallRecord = { key: string; time: string; by: string } & (CallOutcome | { state: 'started' })

/** Nobody knows whether it happened, or it runs right now. */
export function isUnfinished({ state }: CallRecord): boolean {
  return state === 'started' || state === 'unknown'
}

/** Where calls are recorded; durable when a promise resolves. */
export type CallJournal = {
  /** Records the start, unless the key is there and not `failed`; then that record is the answer. */
  begin(key: string): Promise<CallRecord | undefined>
  end(key: string, outcome: CallOutcome): Promise<void>
  get(key: string): Promise<CallRecord | undefined>
  /** Every record that is started or unknown, oldest first. */
  unfinished(): Promise<CallRecord[]>
  close(): Promise<void>
}

export type CallLedger = CallService & { close(): Promise<void> }

/**
 * Makes the ledger over a journal. `once` runs a call once for its key, over retries and crashes: later calls with the
 * same key get the recorded result; calls at the same time in this process share one run. Where an earlier one was
 * started and its outcome is not known, it throws `call_unknown` and does not run. After an error that proves that the
 * call did not happen, the next `once` runs again.
 */
export function createCallLedger(journal: CallJournal): CallLedger {
  const running = new Map<string, Promise<Json>>()

  const run = async (key: string, call: () => Promise<Json> | Json): Promise<Json> => {
    const earlier = await journal.begin(key)
    if (earlier?.state === 'done') return earlier.result
    if (earlier) throw new TriviumError('call_unknown', { key, time: earlier.time })
    let result: Json
    try {
      result = (await call()) ?? null
    } catch (error) {
      await journal.end(key, { state: didNotHappen(error) ? 'failed' : 'unknown', error: reasonOf(error) })
      throw error
    }
    await journal.end(key, { state: 'done', result })
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
    unfinished: () => journal.unfinished(),
    async settle({ key, happened, result }) {
      if (!happened && result !== null)
        throw new TriviumError('usage', { details: 'A call that did not happen has no result.' })
      const record = await journal.get(key)
      if (!record || record.state === 'done') throw new TriviumError('not_found', { path: `call ${key}` })
      const notHappened = { state: 'failed', error: 'settled: it did not happen' } as const
      await journal.end(key, happened ? { state: 'done', result } : notHappened)
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
