import { setMaxListeners } from 'node:events'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { formatDuration } from '../core/units.ts'

/**
 * Runs `work` until `parent` aborts or `timeout` (ms) is over, and rejects at that moment with `skill_timeout` or the reason of
 * the abort, even where the work ignores its signal. `live` holds the controller while it runs, for whoever closes.
 */
export async function runBounded<T>(
  bounds: { skill: string; parent?: AbortSignal; timeout?: number; live?: Set<AbortController> },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { skill: name, parent, timeout, live } = bounds
  if (parent?.aborted) throw abortError(parent)
  const controller = new AbortController()
  const { signal } = controller
  setMaxListeners(0, signal)
  const followParent = () => controller.abort(parent?.reason)
  parent?.addEventListener('abort', followParent, { once: true })
  const end = (ms: number) =>
    controller.abort(new TriviumError('skill_timeout', { name, timeout: formatDuration(ms) }))
  const timer = timeout === undefined ? undefined : setTimeout(end, timeout, timeout)
  live?.add(controller)
  let onAbort = () => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortError(signal))
    signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([work(signal), aborted])
  } finally {
    live?.delete(controller)
    // Left there, it would keep all of the invocation until the next full collection.
    signal.removeEventListener('abort', onAbort)
    clearTimeout(timer)
    parent?.removeEventListener('abort', followParent)
  }
}

/** What an aborted call rejects with: the reason itself where it is a TriviumError, else `cancelled` around it. */
export function abortError(signal: AbortSignal, what = 'The invocation'): Error {
  const { reason } = signal
  if (reason instanceof TriviumError) return reason
  return new TriviumError('cancelled', { what, reason: reasonOf(reason) }, { cause: reason })
}
