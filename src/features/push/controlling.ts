import { authorOf } from '../../core/author.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type * as operations from './operations.ts'
import { createRecords, queueOf } from './records.ts'

type Controlling = Pick<ServiceOf<typeof operations.subscriptions>, 'pause' | 'resume' | 'retry'>

/**
 * Pauses and resumes subscriptions, and tries their failed events now. `requireKnown` throws if
 * there is no such subscription.
 */
export function createControlling(deps: {
  store: Pick<Store, 'kv' | 'jobs'>
  requireKnown(name: string): void
  now(): number
}) {
  const { store, now } = deps
  const recordsOf = (name: string) => {
    deps.requireKnown(name)
    return createRecords(store.kv, name)
  }
  return {
    async pause({ name }, { caller }) {
      const stopped = { why: 'paused', by: authorOf(caller), at: now() } as const
      await recordsOf(name).change((control) => ({ ...control, stopped }))
      return { ok: true }
    },
    async resume({ name }) {
      await recordsOf(name).change(({ stopped: _, ...control }) => ({ ...control, resumedAt: now() }))
      await store.jobs.hasten(queueOf(name))
      return { ok: true }
    },
    async retry({ name }) {
      await recordsOf(name).change((control) => {
        const state = control.stopped?.why === 'gone' ? 'disabled' : 'paused'
        if (control.stopped) throw new TriviumError('subscription_stopped', { name, state })
        return { ...control, resumedAt: now() }
      })
      await store.jobs.hasten(queueOf(name))
      return { ok: true }
    },
  } satisfies Controlling
}
