import { randomBytes } from 'node:crypto'
import type { ServiceOf } from '../../core/operation.ts'
import type { Callbacks } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'
import type * as operations from '../operations.ts'
import {
  bellKey,
  callbackKey,
  callbackRecord,
  createCallbackRecords,
  type InvocationRecord,
  invocationRecord,
  invocationsPrefix,
  isOpen,
  LEFTOVER,
  mayAnswer,
  rootKey,
  TOMBSTONE,
} from './callback-records.ts'
import { createInvoke } from './invoke-callback.ts'

/** Callbacks on the message store: a holder of a ref invokes it, and a waiting responder answers, in any process. */
export function createCallbackService(deps: { store: Pick<Store, 'kv' | 'onSignal'>; now: () => number }) {
  const { store, now } = deps
  const { kv } = store
  const records = createCallbackRecords(store)
  const { findOwn, takePending, watch } = records

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
          return next ? { value: next } : { retryIn: expiresAt - now() }
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

    invoke: createInvoke(store, records, now),
  } satisfies Callbacks & ServiceOf<typeof operations.callbacks>
}
