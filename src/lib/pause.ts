import { setTimeout as timer } from 'node:timers/promises'

/** Resolves after `ms`, or as soon as `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // Rejects only when the signal aborts.
  await timer(ms, undefined, signal && { signal }).catch(() => undefined)
}

/** Settles like the promise, or resolves undefined once `late` aborts. The promise itself continues. */
export async function inTime<T>(value: Promise<T>, late: AbortSignal): Promise<T | undefined> {
  const { promise: over, resolve } = Promise.withResolvers<undefined>()
  const end = () => resolve(undefined)
  if (late.aborted) end()
  late.addEventListener('abort', end)
  try {
    return await Promise.race([value, over])
  } finally {
    late.removeEventListener('abort', end)
  }
}
