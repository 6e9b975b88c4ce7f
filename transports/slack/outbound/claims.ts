import type { Log } from '../../../src/core/log.ts'
import { type Call, type CallRecords, MAX_CALLS } from './call-records.ts'
import { type fingerprint, kindOf } from './methods.ts'

/** Methods for ephemeral posts, whose existence cannot be checked. */
const UNCHECKABLE = /^(chat\.postEphemeral|response_url)$/

type Fingerprint = ReturnType<typeof fingerprint>

/** Matches the calls of a run with the calls of earlier runs that have the same key. */
export function createClaims(key: string, { read }: CallRecords, log: Log) {
  /** Calls of earlier runs that this run has not repeated yet. */
  const unclaimed = new Set<Call>()
  /**
   * Calls of this run without an answer. Bolt's client repeats them unchanged, and they count as
   * the same call.
   */
  const failed = new Set<Call>()
  /** The next sequence number, by method. */
  const nextParts = new Map<string, number>()
  let recordedCount = 0
  let reading: Promise<void> | undefined

  const readOnce = async () => {
    for (const call of await read(key)) {
      unclaimed.add(call)
      recordedCount++
      nextParts.set(call.method, call.part + 1)
    }
  }

  const forget = (call: Call) => {
    for (const calls of [failed, unclaimed]) calls.delete(call)
    return call
  }

  /** The call of an earlier run, or a failed one of this run, that a call repeats. */
  const findRepeated = (method: string, { said, place }: Fingerprint): Call | undefined => {
    const same = [...failed, ...unclaimed].find((call) => call.method === method && call.said === said)
    if (same) return forget(same)
    const toSamePlace = [...unclaimed].filter(
      (call) => call.method === method && call.place === place && call.wasMade,
    )
    const [next] = toSamePlace
    if (!next || kindOf(method) === 'switch') return undefined
    const outcome = kindOf(method) === 'make' ? 'gets the answer of the call it replaces' : 'is made'
    log.warn({ key, method, outcome }, 'a repeated run calls Slack with other arguments than the run before')
    if (kindOf(method) === 'make') return forget(next)
    // From here on, the `set` calls of this run must be made.
    for (const call of toSamePlace) unclaimed.delete(call)
    return undefined
  }

  return {
    /**
     * The call of an earlier run that a call repeats, or a new record. Undefined if there are too
     * many to record.
     */
    async claim(method: string, hashes: Fingerprint): Promise<Call | undefined> {
      reading ??= readOnce()
      await reading
      const repeated = findRepeated(method, hashes)
      if (repeated?.wasMade) return repeated
      const next = nextParts.get(method) ?? 0
      if (!repeated && ++recordedCount > MAX_CALLS) return undefined
      const part = repeated?.part ?? next
      nextParts.set(method, Math.max(next, part + 1))
      return { method, part, ...hashes, files: [], wasMade: false, unseen: UNCHECKABLE.test(method) }
    },
    /** Returns a call that got no answer, for the next claim. */
    release: (call: Call) => void failed.add(call),
  }
}
