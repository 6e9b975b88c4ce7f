import { setTimeout as timer } from 'node:timers/promises'

/** Resolves after so many ms, or as soon as `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // It rejects when the signal aborts and for no other reason.
  await timer(ms, undefined, signal && { signal }).catch(() => undefined)
}

/** Settles as the promise does, or resolves undefined once `late` aborts. The promise goes on: whoever asks later may find it settled. */
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
