import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import type { Leases } from '../../../src/core/store.ts'
import { inTime, pause } from '../../../src/lib/pause.ts'

/** A lease in force. `lost` is aborted when another daemon may have it; the holder stops at once then. */
export type HeldLease = { readonly token: number; lost: AbortSignal; release(): Promise<void> }

/**
 * Waits until this daemon holds the lease, then keeps it renewed. `ttl` (ms) is how long a dead holder
 * blocks the others. Undefined: `signal` was aborted first. While the store is away nobody holds it.
 */
export async function holdLease(options: {
  leases: Leases
  name: string
  owner: string
  ttl: number
  log: Log
  signal: AbortSignal
}): Promise<HeldLease | undefined> {
  const { leases, name, owner, ttl, log, signal } = options
  let token = 0
  let safeUntil = 0
  let isAsking = false
  const take = async (): Promise<boolean> => {
    if (isAsking) return false
    isAsking = true
    const asked = performance.now()
    const held = await leases.acquire(name, owner, ttl).catch((error) => {
      log.warn({ lease: name, reason: reasonOf(error) }, 'the lease of the mailbox could not be taken')
    })
    isAsking = false
    if (held) [token, safeUntil] = [held.token, asked + ttl]
    return held !== undefined
  }
  // A store that does not answer must not keep a daemon from stopping.
  while (!(await inTime(take(), signal))) {
    if (signal.aborted) return undefined
    await pause(ttl / 6, signal)
  }

  const lost = new AbortController()
  const renew = async () => {
    // Given up before it ends, so that two daemons never believe at once that they hold it. A process that was too busy
    // to ask in time, and finds that nobody else took it, goes on: what kept it busy would do so again.
    if (!(await take()) && performance.now() > safeUntil - ttl / 3)
      lost.abort(new Error('the lease of the mailbox was lost'))
  }
  const timer = setInterval(renew, ttl / 4)
  return {
    get token() {
      return token
    },
    lost: lost.signal,
    async release() {
      clearInterval(timer)
      // Where the store is away, it ends by itself.
      if (!lost.signal.aborted) await leases.release(name, owner).catch(() => {})
    },
  }
}
