import { z } from 'zod'
import type { Caller } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { HOUR, MINUTE } from '../../core/units.ts'

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
/**
 * Prefix of the keys of pending invocations; the id of the invocation follows. A responder claims
 * an invocation by deleting its key.
 */
export const openPrefix = (ref: string) => `callback-open:${ref}:`
/** Written with each invocation, to wake responders on any daemon. */
export const wakeKey = (ref: string) => `callback-bell:${ref}`
export const rootKey = (rootId: string, ref: string) => `callback-root:${rootId}:${ref}`

/** How long (ms) a released ref is remembered. Afterwards it counts as unknown. */
export const RELEASED_TTL = HOUR
/**
 * A responder tries to claim this many of the oldest invocations, and then lists them again,
 * because other responders try to claim the same ones.
 */
const MAX_CANDIDATES = 16
/**
 * How long (ms) an invocation is kept after the timeout of its caller. Only for crashes: otherwise
 * the caller deletes it.
 */
export const EXTRA_TTL = MINUTE

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
     * Like `find`, for responders. A program without access gets the same error as for an unknown
     * ref, even after the release.
     */
    findAnswerable: (ref: string, caller: Caller) => find(ref, (record) => mayAnswer(caller, record)),
    /**
     * Claims the oldest pending invocation of a callback, for `ttl` ms. Undefined if none is
     * pending.
     */
    async takePending(ref: string, ttl: number) {
      for (;;) {
        const { items: open } = await kv.list(openPrefix(ref), MAX_CANDIDATES)
        if (open.length === 0) return undefined
        for (const openKey of open) {
          if (!(await kv.delete(openKey))) continue
          const key = invocationsPrefix(ref) + openKey.slice(openPrefix(ref).length)
          const entry = await kv.get(key)
          // The caller of this invocation gave up.
          if (!entry) continue
          const call = invocationRecord.parse(entry.value)
          const taken = withUnknownFields({ ...call, status: 'taken' }, entry.value, call)
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
