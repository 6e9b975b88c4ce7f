import { setTimeout as pause } from 'node:timers/promises'

/**
 * What a promise resolves with, or undefined once `late` aborts and it has not settled; rejects as the promise does.
 * The promise goes on: whoever asks later may find it settled.
 */
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

/** Resolves after so many ms, or as soon as `late` aborts. */
export async function rest(ms: number, late: AbortSignal): Promise<void> {
  // It rejects when `late` aborts and for no other reason.
  await pause(ms, undefined, { signal: late, ref: false }).catch(() => undefined)
}

/** How long to wait after so many failures in a row (ms): twice as long each time, up to a limit, less up to a half by chance. */
export function backoff(failures: number, limits: { first: number; longest: number }): number {
  const delay = Math.min(limits.longest, limits.first * 2 ** failures)
  return delay * (0.5 + Math.random() / 2)
}
