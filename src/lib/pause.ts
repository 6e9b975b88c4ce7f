import { setTimeout as timer } from 'node:timers/promises'

/** Resolves after so many ms, or as soon as `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  // It rejects when the signal aborts and for no other reason.
  await timer(ms, undefined, signal && { signal }).catch(() => undefined)
}

/** What a promise resolves with (or rejects with), or undefined once `late` aborts first; it goes on, and may be asked for again. */
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
