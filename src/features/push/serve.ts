import { isDeepStrictEqual } from 'node:util'
import { isOver } from '../../core/pause-record.ts'
import type { Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { resumeSending } from './pauses.ts'
import { type Control, createRecords, queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'
import type { SendingDeps } from './sending.ts'
import { createWithdrawal } from './withdrawing.ts'

/** How long (ms) a daemon may serve a subscription without renewing its lease. */
const LEASE = 5_000
/** Interval (ms) between renewals of the lease. */
const RENEW_INTERVAL = 1_500
/** How long (ms) running attempts may take to end when their subscription changes. */
export const GRACE = 10_000

export type ServeDeps = SendingDeps & {
  store: Store
  /** The name of this daemon, for leases. */
  owner: string
}

type Sending = { stop(grace: number): Promise<readonly number[]>; settledCount(): number }

/**
 * Serves a subscription while this daemon holds its lease and its control does not stop it.
 * `changedAt`: see `Start`.
 */
export function serve(subscription: PushSubscription, deps: ServeDeps, changedAt = 0) {
  const { store, owner, log } = deps
  const lease = queueOf(subscription.name)
  const records = createRecords(store.kv, subscription.name)
  let sending: ({ control: Control; ending?: Promise<void> } & Sending) | undefined
  /** The rounds of the attempts that failed during the last stop. */
  let interrupted: readonly number[] = []
  const withdrawal = createWithdrawal(subscription, { ...deps, records }, () => loop.wake())
  /**
   * Stops sending. The loop starts it again, unless the lease is lost or the control forbids it.
   */
  const end = (grace: number) => {
    if (!sending) return
    sending.ending ??= stopSending(sending, grace)
    return sending.ending
  }
  const stopSending = async ({ stop }: Sending, grace: number) => {
    try {
      interrupted = await stop(grace)
    } finally {
      sending = undefined
      loop.wake()
    }
  }
  /** The control, after the daemon with the lease has ended a pause that is over. */
  const currentControl = async (isOurs: boolean) => {
    const control = await records.control()
    const { stopped } = control
    if (!isOurs || !stopped || !isOver(stopped, deps.now())) return control
    await resumeSending({ store, records, now: deps.now }, subscription.name, stopped)
    return records.control()
  }
  const loop = createLoop({
    async step() {
      const isOurs = await store.leases.acquire(lease, owner, LEASE)
      const control = await currentControl(isOurs !== undefined)
      // Not awaited, because the lease must be renewed meanwhile.
      if (sending && isOurs && !isDeepStrictEqual(control, sending.control)) void end(GRACE)
      if (!isOurs) await end(0)
      const mayStart = isOurs && !sending && !withdrawal.isRunning()
      if (mayStart && control.withdrawals) withdrawal.begin(control.withdrawals, interrupted)
      if (mayStart && !control.withdrawals && !control.stopped) {
        // Loaded on first use: the HTTP client loads slowly, and most daemons push nothing.
        const { startSending } = await import('./sending.ts')
        const started = await startSending({ subscription, control, changedAt, records }, deps)
        sending = { control, ...started }
      }
      return RENEW_INTERVAL
    },
    failed: (err) => log.warn({ lease, err }, 'a subscription could not be served; trying again'),
    pause: RENEW_INTERVAL,
  })
  const unsubscribe = store.onSignal(`kv:${records.key}`, loop.wake)
  loop.start()
  return {
    subscription,
    /** See `countsOf`. 0 if another daemon serves the subscription. */
    settledCount: () => sending?.settledCount() ?? 0,
    async stop(grace: number): Promise<void> {
      unsubscribe()
      await loop.stop()
      await withdrawal.stop()
      await end(grace)
      await store.leases.release(lease, owner).catch(() => {})
    },
  }
}
