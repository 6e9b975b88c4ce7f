import { z } from 'zod'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'

/** A stored callback. Times are Unix ms. */
export const callbackRecord = z.object({
  timeout: z.number(),
  expiresAt: z.number(),
  rootId: z.string(),
  released: z.boolean(),
  /** The creator, and the gateway of their message. Absent in records of older versions. */
  maker: z.object({ id: z.string().nullable(), gateway: z.string().nullable() }).exactOptional(),
})
type CallbackRecord = z.infer<typeof callbackRecord>

/** A stored invocation of a callback, kept until the caller has the answer or gave up. */
export const invocationRecord = z.object({
  id: z.string(),
  args: z.json(),
  status: z.enum(['pending', 'taken', 'answered', 'failed']),
  result: z.json(),
})

export type InvocationRecord = z.infer<typeof invocationRecord>

export const callbackKey = (ref: string) => `callback:${ref}`
export const invocationsPrefix = (ref: string) => `callback-call:${ref}:`
/** Followed by the id of an invocation that nobody has taken: who deletes the key has it. */
export const openPrefix = (ref: string) => `callback-open:${ref}:`
/** Written with each invocation, to wake responders on any daemon. */
export const bellKey = (ref: string) => `callback-bell:${ref}`
export const rootKey = (rootId: string, ref: string) => `callback-root:${rootId}:${ref}`

/** How long (ms) a released ref can be distinguished from an unknown one. */
export const TOMBSTONE = 3_600_000
/** How many of the oldest invocations a responder tries before it looks again: others may take the same ones. */
const LOOKED_AT = 16
/** Extra lifetime (ms) of an invocation after its caller's timeout, so that records expire after a crash. */
export const LEFTOVER = 60_000

/** Reads callbacks from the store. */
export function createCallbackRecords({ kv, onSignal }: Pick<Store, 'kv' | 'onSignal'>) {
  const find = async (ref: string, isVisible = (_record: CallbackRecord) => true) => {
    const entry = await kv.get(callbackKey(ref))
    const record = entry && callbackRecord.parse(entry.value)
    if (!record || !isVisible(record)) throw new TriviumError('callback_not_found', { ref })
    if (record.released) throw new TriviumError('callback_released', { ref })
    return record
  }

  return {
    /** Throws `callback_not_found`, `callback_released`. */
    find: (ref: string) => find(ref),
    /**
     * Like `find`, for responding and releasing. A program without access gets the same error as for an unknown ref,
     * also after a release.
     */
    findOwn: (ref: string, caller: Caller) => find(ref, (record) => mayAnswer(caller, record)),
    /** Takes the oldest pending invocation of a callback, for `ttl` ms. */
    async takePending(ref: string, ttl: number) {
      for (;;) {
        const open = await kv.list(openPrefix(ref), LOOKED_AT)
        if (open.length === 0) return undefined
        for (const openKey of open) {
          if (!(await kv.delete(openKey))) continue
          const key = invocationsPrefix(ref) + openKey.slice(openPrefix(ref).length)
          const entry = await kv.get(key)
          // Its caller gave up.
          if (!entry) continue
          const call = invocationRecord.parse(entry.value)
          const taken: InvocationRecord = { ...call, status: 'taken' }
          const won = await kv.set(key, taken, { ifVersion: entry.version, ttl })
          if (won !== undefined) return { id: call.id, args: call.args }
        }
      }
    },
    /** For `waitFor`: wakes at changes of some keys. */
    watch: (keys: string[]) => (wake: () => void) => {
      const stops = keys.map((key) => onSignal(`kv:${key}`, wake))
      return () => {
        for (const stop of stops) stop()
      }
    },
  }
}

/** A program limited to some gateways may answer its own callbacks and those of its gateways. */
export function mayAnswer({ id, skills, gateways }: Caller, { maker }: CallbackRecord): boolean {
  if (skills === undefined || gateways === undefined || maker === undefined) return true
  return (id !== undefined && id === maker.id) || gateways.includes(maker.gateway ?? '')
}

/** Whether an invocation has no answer yet. */
export function isOpen(status: InvocationRecord['status']): boolean {
  return status === 'pending' || status === 'taken'
}
