import { setTimeout as pause } from 'node:timers/promises'

/** Waits `ms`; ends early, without an error, when `signal` aborts. */
export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal })
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Exponential backoff with full jitter, in ms: spreads the daemons that lost the same server. */
export function backoff(attempt: number, base: number, max: number, random: number = Math.random()): number {
  const ceiling = Math.min(max, base * 2 ** Math.min(attempt, 30))
  return base / 2 + random * (ceiling - base / 2)
}
