import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Caller } from '../../core/call.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'
import { makeId } from '../../core/message-id.ts'
import type { CallbackService } from '../../core/services.ts'
import type { Skill } from '../../core/skill.ts'
import type { Store } from '../../core/store.ts'
import { formatDuration } from '../../core/units.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'

/** A stored callback. Times are Unix ms. */
const callbackRecord = z.object({
  timeout: z.number(),
  expiresAt: z.number(),
  rootId: z.string(),
  released: z.boolean(),
  /** The creator, and the gateway of their message. Absent in records of older versions. */
  maker: z.object({ id: z.string().nullable(), gateway: z.string().nullable() }).exactOptional(),
})
type CallbackRecord = z.infer<typeof callbackRecord>

/** A stored invocation of a callback, kept until the caller has the answer or gave up. */
const invocationRecord = z.object({
  id: z.string(),
  args: z.json(),
  status: z.enum(['pending', 'taken', 'answered', 'failed']),
  result: z.json(),
})

type InvocationRecord = z.infer<typeof invocationRecord>

const callbackKey = (ref: string) => `callback:${ref}`
const invocationsPrefix = (ref: string) => `callback-call:${ref}:`
/** Written with each invocation, to wake responders on any daemon. */
const bellKey = (ref: string) => `callback-bell:${ref}`
const rootKey = (rootId: string, ref: string) => `callback-root:${rootId}:${ref}`

/** How long (ms) a released ref can be distinguished from an unknown one. */
const TOMBSTONE = 3_600_000
/** Extra lifetime (ms) of an invocation after its caller's timeout, so that records expire after a crash. */
const LEFTOVER = 60_000

/** Callbacks on the message store: a holder of a ref invokes it, and a waiting responder answers, in any process. */
export function createCallbackService(deps: { store: Pick<Store, 'kv' | 'onSignal'>; now: () => number }) {
  const { store, now } = deps
  const { kv, onSignal } = store
  let count = 0

  const find = async (ref: string) => {
    const entry = await kv.get(callbackKey(ref))
    if (!entry) throw new TriviumError('callback_not_found', { ref })
    const record = callbackRecord.parse(entry.value)
    if (record.released) throw new TriviumError('callback_released', { ref })
    return record
  }

  /** Like `find`, for responding and releasing. A program without access gets the same error as for an unknown ref. */
  const findOwn = async (ref: string, caller: Caller) => {
    const record = await find(ref)
    if (!mayAnswer(caller, record)) throw new TriviumError('callback_not_found', { ref })
    return record
  }

  const takePending = async (ref: string, ttl: number) => {
    for (const key of await kv.list(invocationsPrefix(ref), 1000)) {
      const entry = await kv.get(key)
      if (!entry) continue
      const call = invocationRecord.parse(entry.value)
      if (call.status !== 'pending') continue
      const taken: InvocationRecord = { ...call, status: 'taken' }
      const won = await kv.set(key, taken, { ifVersion: entry.version, ttl })
      if (won !== undefined) return { id: call.id, args: call.args }
    }
    return undefined
  }

  const watch = (keys: string[]) => (wake: () => void) => {
    const stops = keys.map((key) => onSignal(`kv:${key}`, wake))
    return () => {
      for (const stop of stops) stop()
    }
  }

  return {
    async create({ label, timeout, ttl }, { rootId, caller, message }) {
      const maker = { id: caller.id ?? null, gateway: message?.gateway ?? null }
      for (;;) {
        const ref = `${label}-${randomBytes(4).toString('hex')}`
        const record = { timeout, expiresAt: now() + ttl, released: false, rootId, maker }
        const made = await kv.set(callbackKey(ref), record, { ttl, ifVersion: 0 })
        if (made === undefined) continue
        await kv.set(rootKey(rootId, ref), ref, { ttl })
        return { ref }
      }
    },

    async wait({ ref, timeout }, { signal, caller }) {
      const taken = await waitFor({
        attempt: async () => {
          const { expiresAt, timeout: patience } = await findOwn(ref, caller)
          const next = await takePending(ref, patience + LEFTOVER)
          return next ? { value: next } : { retryAt: expiresAt }
        },
        watch: watch([bellKey(ref), callbackKey(ref)]),
        timeout,
        signal,
      })
      if (!taken && signal.aborted) throw abortError(signal, `Waiting on ${ref}`)
      return taken ?? null
    },

    async respond({ ref, id, result = null, error }, { caller }) {
      await findOwn(ref, caller)
      const key = invocationsPrefix(ref) + id
      const entry = await kv.get(key)
      const call = invocationRecord.safeParse(entry?.value)
      if (!entry || !call.success || !isOpen(call.data.status)) return { ok: false }
      const answered: InvocationRecord =
        error === undefined
          ? { ...call.data, status: 'answered', result }
          : { ...call.data, status: 'failed', result: error }
      const won = await kv.set(key, answered, { ttl: LEFTOVER, ifVersion: entry.version })
      return { ok: won !== undefined }
    },

    async release({ ref }, { caller }) {
      const entry = await kv.get(callbackKey(ref))
      const record = callbackRecord.safeParse(entry?.value)
      if (!record.success || record.data.released || !mayAnswer(caller, record.data)) return { ok: false }
      await kv.set(callbackKey(ref), { ...record.data, released: true }, { ttl: TOMBSTONE })
      await kv.delete(rootKey(record.data.rootId, ref))
      return { ok: true }
    },

    async list(rootId) {
      const prefix = rootKey(rootId, '')
      return (await kv.list(prefix, 1000)).map((key) => key.slice(prefix.length))
    },

    async invoke(ref, args, signal) {
      const { timeout } = await find(ref)
      count += 1
      const id = makeId(now(), count)
      const key = invocationsPrefix(ref) + id
      const call: InvocationRecord = { id, args, status: 'pending', result: null }
      const ttl = timeout + LEFTOVER
      try {
        await kv.set(key, call, { ttl })
        await kv.set(bellKey(ref), id, { ttl })
        const answer = await waitFor({
          attempt: async () => {
            // Checked in this order, so that an answer followed by a release counts as answered.
            const [alive] = await Promise.allSettled([find(ref)])
            const { value } = (await kv.get(key)) ?? {}
            const found = value === undefined ? call : invocationRecord.parse(value)
            if (!isOpen(found.status)) return { value: found }
            if (alive.status === 'rejected') throw alive.reason
            return {}
          },
          watch: watch([key, callbackKey(ref)]),
          timeout,
          signal,
        })
        if (!answer && signal.aborted) throw abortError(signal, `Invoking ${ref}`)
        if (!answer) throw new TriviumError('callback_timeout', { ref, timeout: formatDuration(timeout) })
        if (answer.status === 'answered') return answer.result
        throw new TriviumError('callback_failed', { ref, reason: reasonOf(answer.result) })
      } finally {
        await kv.delete(key)
      }
    },
  } satisfies CallbackService
}

/** A program limited to some gateways may answer its own callbacks and those of its gateways. */
function mayAnswer({ id, skills, gateways }: Caller, { maker }: CallbackRecord): boolean {
  if (skills === undefined || gateways === undefined || maker === undefined) return true
  return (id !== undefined && id === maker.id) || gateways.includes(maker.gateway ?? '')
}

function isOpen(status: InvocationRecord['status']): boolean {
  return status === 'pending' || status === 'taken'
}

const REF = /^[a-z0-9][a-z0-9-]*-[0-9a-f]{8}$/

/** True for a name in the form of a callback ref: `{label}-{8 hex digits}`. */
export function isCallbackName(name: string): boolean {
  return REF.test(name)
}

/** Wraps a callback as a skill, so that refs are invoked like skills. */
export function callbackSkill(ref: string): Skill {
  return {
    name: ref,
    description: `Callback ${ref}`,
    args: z.json(),
    run: (ctx) => ctx.services.callbacks.invoke(ref, toJson(ctx.args), ctx.signal),
  }
}
