import { randomBytes } from 'node:crypto'
import type { ServiceOf } from '../../core/operation.ts'
import type { Callbacks } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import { withUnknownFields } from '../../core/stored-entries.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'
import type * as operations from '../operations.ts'
import {
  callbackKey,
  callbackRecord,
  createCallbackRecords,
  EXTRA_TTL,
  type InvocationRecord,
  invocationRecord,
  invocationsPrefix,
  isOpen,
  mayAnswer,
  RELEASED_TTL,
  rootKey,
  wakeKey,
} from './callback-records.ts'
import { createInvoke } from './invoke-callback.ts'

/** Maximum number of callbacks that the models of one invocation see. */
const MAX_LISTED = 1000

/**
 * Callbacks on the message store: a holder of a ref invokes it, and a waiting responder answers, in
 * any process.
 */
export function createCallbackService(deps: { store: Pick<Store, 'kv' | 'onSignal'>; now: () => number }) {
  const { store, now } = deps
  const { kv } = store
  const records = createCallbackRecords(store)
  const { findAnswerable, takePending, watch } = records

  return {
    async create({ label, timeout, ttl }, { rootId, caller, message }) {
      const maker = { id: caller.id ?? null, gateway: message?.gateway ?? null }
      for (;;) {
        const ref = `${label}-${randomBytes(4).toString('hex')}`
        const record = { timeout, expiresAt: now() + ttl, released: false, rootId, maker }
        const version = await kv.set(callbackKey(ref), record, { ttl, ifVersion: 0 })
        const isInUse = version === undefined
        if (isInUse) continue
        await kv.set(rootKey(rootId, ref), ref, { ttl })
        return { ref }
      }
    },

    async wait({ ref, timeout }, { signal, caller }) {
      const taken = await waitFor({
        attempt: async () => {
          const { expiresAt, timeout: answerTimeout } = await findAnswerable(ref, caller)
          const next = await takePending(ref, answerTimeout + EXTRA_TTL)
          return next ? { value: next } : { retryIn: expiresAt - now() }
        },
        watch: watch([wakeKey(ref), callbackKey(ref)]),
        timeout,
        signal,
      })
      if (!taken && signal.aborted) throw abortError(signal, `Waiting on ${ref}`)
      return taken ?? null
    },

    async respond({ ref, id, result = null, error }, { caller }) {
      await findAnswerable(ref, caller)
      const key = invocationsPrefix(ref) + id
      const entry = await kv.get(key)
      const call = invocationRecord.safeParse(entry?.value)
      if (!entry || !call.success || !isOpen(call.data.status)) return { ok: false }
      const answered: InvocationRecord =
        error === undefined
          ? { ...call.data, status: 'answered', result }
          : { ...call.data, status: 'failed', result: error }
      const value = withUnknownFields(answered, entry.value, call.data)
      const won = await kv.set(key, value, { ttl: EXTRA_TTL, ifVersion: entry.version })
      return { ok: won !== undefined }
    },

    async release({ ref }, { caller }) {
      const entry = await kv.get(callbackKey(ref))
      const record = callbackRecord.safeParse(entry?.value)
      if (!record.success || record.data.released || !mayAnswer(caller, record.data)) return { ok: false }
      const released = withUnknownFields({ ...record.data, released: true }, entry?.value, record.data)
      await kv.set(callbackKey(ref), released, { ttl: RELEASED_TTL })
      await kv.delete(rootKey(record.data.rootId, ref))
      return { ok: true }
    },

    async list(rootId) {
      const prefix = rootKey(rootId, '')
      return (await kv.list(prefix, MAX_LISTED)).items.map((key) => key.slice(prefix.length))
    },

    invoke: createInvoke(store, records, now),
  } satisfies Callbacks & ServiceOf<typeof operations.callbacks>
}
