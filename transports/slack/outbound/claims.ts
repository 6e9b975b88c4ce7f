import type { Log } from '../../../src/core/log.ts'
import { type Call, type CallRecords, MAX_CALLS } from './call-records.ts'
import { type fingerprint, kindOf } from './methods.ts'

/** Ephemeral posts, whose existence cannot be checked. */
const UNSEEN = /^(chat\.postEphemeral|response_url)$/

type Prints = ReturnType<typeof fingerprint>

/** Matches the calls of one run with those of earlier runs with the same key. */
export function createClaims(key: string, { read }: CallRecords, log: Log) {
  /** Calls of earlier runs that this run has not repeated yet. */
  const old = new Set<Call>()
  /** Calls of this run without an answer. Bolt's client repeats them unchanged, and they count as the same call. */
  const failed = new Set<Call>()
  const counts = new Map<string, number>()
  let recorded = 0
  let reading: Promise<void> | undefined

  const readOnce = async () => {
    for (const call of await read(key)) {
      old.add(call)
      recorded++
      counts.set(call.method, call.part + 1)
    }
  }

  const forget = (call: Call) => {
    for (const calls of [failed, old]) calls.delete(call)
    return call
  }

  /** The matching call of an earlier run. */
  const earlier = (method: string, { said, place }: Prints): Call | undefined => {
    const same = [...failed, ...old].find((call) => call.method === method && call.said === said)
    if (same) return forget(same)
    const others = [...old].filter((call) => call.method === method && call.place === place && call.wasMade)
    const [next] = others
    if (!next || kindOf(method) === 'switch') return undefined
    const gets = kindOf(method) === 'make' ? 'gets the answer of the call it replaces' : 'is made'
    log.warn({ key, method, gets }, 'a repeated run calls Slack with other arguments than the run before')
    if (kindOf(method) === 'make') return forget(next)
    // Later `set` calls of the earlier run must be made again.
    for (const call of others) old.delete(call)
    return undefined
  }

  return {
    /** The call of an earlier run that a call repeats, or a new record. Undefined if there are too many to record. */
    async claim(method: string, prints: Prints): Promise<Call | undefined> {
      reading ??= readOnce()
      await reading
      const known = earlier(method, prints)
      if (known?.wasMade) return known
      const next = counts.get(method) ?? 0
      if (!known && ++recorded > MAX_CALLS) return undefined
      const part = known?.part ?? next
      counts.set(method, Math.max(next, part + 1))
      return { method, part, ...prints, files: [], wasMade: false, unseen: UNSEEN.test(method) }
    },
    /** Offers a call that got no answer to the next claim. */
    release: (call: Call) => void failed.add(call),
  }
}
