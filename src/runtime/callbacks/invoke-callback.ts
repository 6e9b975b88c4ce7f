import { reasonOf, TriviumError } from '../../core/errors.ts'
import { makeId } from '../../core/message-id.ts'
import type { Callbacks } from '../../core/services.ts'
import type { Store } from '../../core/store.ts'
import { formatDuration } from '../../core/units.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { abortError } from '../bounded.ts'
import {
  callbackKey,
  type createCallbackRecords,
  EXTRA_TTL,
  type InvocationRecord,
  invocationRecord,
  invocationsPrefix,
  isOpen,
  openPrefix,
  wakeKey,
} from './callback-records.ts'

/**
 * Makes the function that invokes a callback: it writes an invocation, and waits for the answer.
 */
export function createInvoke(
  { kv }: Pick<Store, 'kv'>,
  { find, watch }: ReturnType<typeof createCallbackRecords>,
  now: () => number,
): Callbacks['invoke'] {
  let count = 0

  return async (ref, args, signal) => {
    const { timeout } = await find(ref)
    count += 1
    const id = makeId(now(), count)
    const key = invocationsPrefix(ref) + id
    const call: InvocationRecord = { id, args, status: 'pending', result: null }
    const ttl = timeout + EXTRA_TTL
    try {
      await kv.set(key, call, { ttl })
      await kv.set(openPrefix(ref) + id, null, { ttl })
      await kv.set(wakeKey(ref), id, { ttl })
      const answer = await waitFor({
        attempt: async () => {
          // Whether the callback was released is read before the answer: if both happened
          // meanwhile, the answer counts. `find` rejects for a released callback.
          const [found] = await Promise.allSettled([find(ref)])
          const { value } = (await kv.get(key)) ?? {}
          const current = value === undefined ? call : invocationRecord.parse(value)
          if (!isOpen(current.status)) return { value: current }
          if (found.status === 'rejected') throw found.reason
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
      await Promise.all([kv.delete(openPrefix(ref) + id), kv.delete(key)])
    }
  }
}
