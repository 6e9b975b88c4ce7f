import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Json } from '../core/json.ts'

/** What is known of one call. `unknown`: it ended in an error that does not tell whether it happened. */
export type CallRecord = { key: string; time: string; by: string } & (
  | { state: 'started' }
  | { state: 'done'; result: Json }
  | { state: 'unknown'; error: string }
  | { state: 'failed'; error: string }
)

/** Where calls are recorded; durable when a promise resolves, safe between processes. */
export type CallJournal = {
  /** Records the start, unless the key is there and not `failed`; then that record is the answer. */
  begin(key: string): Promise<CallRecord | undefined>
  end(key: string, outcome: CallOutcome): Promise<void>
  get(key: string): Promise<CallRecord | undefined>
  /** Every record that is started or unknown, oldest first. */
  unfinished(): Promise<CallRecord[]>
  close(): Promise<void>
}

export type CallOutcome =
  | { state: 'done'; result: Json }
  | { state: 'unknown'; error: string }
  | { state: 'failed'; error: string }

export type CallLedger = {
  /**
   * Runs `call` once for its key, over retries and crashes. Later calls with the same key get the recorded result;
   * calls at the same time in this process share one run. Where an earlier one was started and its outcome is not
   * known, it throws `call_unknown` and does not run. An error after which the call certainly did not happen
   * is thrown on, and the next `once` runs again.
   */
  once<T extends Json>(key: string, call: () => Promise<T> | T): Promise<Json>
  /** Calls whose outcome is not known, for people. One that runs right now is among them. */
  unfinished(): Promise<CallRecord[]>
  /** What a person found out: the result, or that it did not happen and may run again. */
  settle(key: string, found: { result: Json } | { happened: false }): Promise<void>
  close(): Promise<void>
}

export type LedgerOptions = {
  /** True for an error that proves that nothing happened. Default: `didNotHappen`. */
  isDefinite?: (error: unknown) => boolean
}

/** Makes the ledger over a journal: `createFileCallJournal` or `createSharedCallJournal`. */
export function createCallLedger(journal: CallJournal, options: LedgerOptions = {}): CallLedger {
  const isDefinite = options.isDefinite ?? didNotHappen
  const running = new Map<string, Promise<Json>>()

  const run = async (key: string, call: () => Promise<Json> | Json): Promise<Json> => {
    const earlier = await journal.begin(key)
    if (earlier?.state === 'done') return earlier.result
    if (earlier) throw new TriviumError('call_unknown', { key, time: earlier.time })
    let result: Json
    try {
      result = (await call()) ?? null
    } catch (error) {
      await journal.end(key, { state: isDefinite(error) ? 'failed' : 'unknown', error: reasonOf(error) })
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
    async settle(key, found) {
      const record = await journal.get(key)
      if (!record || record.state === 'done') throw new TriviumError('not_found', { path: `call ${key}` })
      const outcome: CallOutcome =
        'result' in found
          ? { state: 'done', result: found.result }
          : { state: 'failed', error: 'settled: it did not happen' }
      await journal.end(key, outcome)
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
export function didNotHappen(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof TriviumError) return REFUSALS.has(error.code) || didNotHappen(error.cause)
  if ('code' in error && BEFORE_ANYTHING_WAS_SENT.has(String(error.code))) return true
  return didNotHappen(error.cause)
}
