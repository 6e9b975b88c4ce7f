import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import type * as operations from './operations.ts'
import { STORE_PAUSE_KEY, storePausedSince } from './record.ts'

/** Interval (ms) between polls during a pause, in addition to signals. */
const POLL_INTERVAL = 2_000

/**
 * The pause after `trivium restore --paused` or `trivium store pause`. It begins while no daemon
 * runs, so a daemon reads it at its start, and begins its work when the pause has ended.
 */
export function createStorePause({ store, log }: { store: Pick<Store, 'kv' | 'onSignal'>; log: Log }) {
  let since: number | undefined
  let begin = () => {}
  let unsubscribe = () => {}

  const loop = createLoop({
    async step() {
      since = await storePausedSince(store.kv)
      if (since !== undefined) return POLL_INTERVAL
      unsubscribe()
      log.info({}, 'the pause of the store has ended; the work begins')
      begin()
      return undefined
    },
    failed: (err) => log.warn({ err }, 'the pause of the store cannot be read; the work waits'),
    pause: POLL_INTERVAL,
  })

  return {
    /** The start of the pause (Unix ms), if this daemon waits for its end. */
    since: () => since,
    /**
     * Begins the work now, or at the end of the pause. With `isWaiting: false`, it does not begin
     * if there is a pause.
     */
    async start(work: () => void, { isWaiting }: { isWaiting: boolean }): Promise<void> {
      since = await storePausedSince(store.kv)
      if (since === undefined) return work()
      log.warn({}, 'the store is paused: `trivium daemon resume` begins the work')
      if (!isWaiting) return
      begin = work
      unsubscribe = store.onSignal(`kv:${STORE_PAUSE_KEY}`, loop.wake)
      loop.start()
    },
    async stop(): Promise<void> {
      unsubscribe()
      await loop.stop()
    },
    service: {
      async resume(_, { caller }: Call) {
        if (!isOperator(caller))
          throw new TriviumError('forbidden', {
            what: 'Resuming the daemons',
            reason: 'it requires an operator',
          })
        return { ok: true, resumed: await store.kv.delete(STORE_PAUSE_KEY) }
      },
    } satisfies ServiceOf<typeof operations.storePause>,
  }
}
