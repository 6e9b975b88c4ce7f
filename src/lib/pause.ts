import { setTimeout as timer } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // Rejects only when the signal aborts.
  await timer(ms, undefined, signal && { signal }).catch(() => undefined)
}

/**
 * Settles like the promise, or resolves with undefined once `late` aborts. The work behind the
 * promise continues.
 */
export async function inTime<T>(value: Promise<T>, late: AbortSignal): Promise<T | undefined> {
  const { promise: aborted, resolve } = Promise.withResolvers<undefined>()
  const onAbort = () => resolve(undefined)
  if (late.aborted) onAbort()
  late.addEventListener('abort', onAbort)
  try {
    return await Promise.race([value, aborted])
  } finally {
    late.removeEventListener('abort', onAbort)
  }
}
