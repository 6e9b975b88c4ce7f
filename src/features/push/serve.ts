import { isDeepStrictEqual } from 'node:util'
import type { PushSubscription } from '../../config/schema/push.ts'
import type { Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { type Control, createRecords, queueOf } from './records.ts'
import type { SendingDeps } from './sending.ts'

/** One daemon serves a subscription; another does when this one has not renewed its lease for so long (ms). */
const LEASE = 5_000
const RENEW = 1_500
/** What is under way gets this long (ms) when its subscription is changed. */
export const GRACE = 10_000

export type ServeDeps = SendingDeps & {
  store: Store
  /** Names this daemon. */
  owner: string
}

/** Serves a subscription whenever no other daemon does, as its control says. */
export function serve(subscription: PushSubscription, deps: ServeDeps) {
  const { store, owner, log } = deps
  const lease = queueOf(subscription.name)
  const records = createRecords(store.kv, subscription.name)
  let sending: { control: Control; stop(grace: number): Promise<void>; ending?: Promise<void> } | undefined
  const end = (grace: number) => {
    if (!sending) return
    sending.ending ??= sending.stop(grace).finally(() => {
      sending = undefined
      loop.wake()
    })
    return sending.ending
  }
  const loop = createLoop({
    async step() {
      const isOurs = await store.leases.acquire(lease, owner, LEASE)
      const control = await records.control()
      // The lease is renewed meanwhile.
      if (sending && isOurs && !isDeepStrictEqual(control, sending.control)) void end(GRACE)
      if (!isOurs) await end(0)
      if (isOurs && !sending && !control.stopped) {
        // Most commands and daemons push nothing, and the HTTP client takes a while to load.
        const { startSending } = await import('./sending.ts')
        sending = { control, stop: await startSending(subscription, control, records, deps) }
      }
      return RENEW
    },
    failed: (err) => log.warn({ lease, err }, 'a subscription cannot be served; trying again'),
    pause: RENEW,
  })
  const off = store.onSignal(`kv:${records.key}`, loop.wake)
  loop.start()
  return {
    subscription,
    async stop(grace: number): Promise<void> {
      off()
      await loop.stop()
      await end(grace)
      await store.leases.release(lease, owner).catch(() => {})
    },
  }
}
