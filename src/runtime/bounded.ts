import { setMaxListeners } from 'node:events'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { formatDuration } from '../core/units.ts'

/**
 * Runs `work`. Rejects with the `abortError` of the reason as soon as `parent` aborts, and with
 * `skill_timeout` after `timeout` ms, even if the work ignores its signal. While the work runs,
 * `running` contains a function that aborts it.
 */
export async function runBounded<T>(
  bounds: {
    skill: string
    parent?: AbortSignal | undefined
    timeout?: number | undefined
    running?: Set<(reason: Error) => void>
  },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { skill: name, parent, timeout, running } = bounds
  if (parent?.aborted) throw abortError(parent)
  const controller = new AbortController()
  const { signal } = controller
  // The work may add any number of listeners.
  setMaxListeners(0, signal)
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const abort = (reason: unknown) => {
    // Rejects first, because the abort may make the work fail with a less clear error.
    reject(abortError({ reason }))
    controller.abort(reason)
  }
  const followParent = () => abort(parent?.reason)
  parent?.addEventListener('abort', followParent, { once: true })
  const onTimeout = (ms: number) =>
    abort(new TriviumError('skill_timeout', { name, timeout: formatDuration(ms) }))
  const timer = timeout === undefined ? undefined : setTimeout(onTimeout, timeout, timeout)
  running?.add(abort)
  try {
    work(signal).then(resolve, reject)
    return await promise
  } finally {
    running?.delete(abort)
    clearTimeout(timer)
    parent?.removeEventListener('abort', followParent)
  }
}

/**
 * The error of an aborted call: the reason if it is a TriviumError, else `cancelled` with the
 * reason as cause.
 */
export function abortError({ reason }: Pick<AbortSignal, 'reason'>, what = 'The invocation'): Error {
  if (reason instanceof TriviumError) return reason
  return new TriviumError('cancelled', { what, reason: reasonOf(reason) }, { cause: reason })
}
