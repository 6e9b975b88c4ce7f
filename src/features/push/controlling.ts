import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { changedPause, newPause, type PauseRecord, pauseChange } from '../../core/pause-record.ts'
import type { Store } from '../../core/store.ts'
import type * as operations from './operations.ts'
import { pauseIn, presentControl, resumeSending, stoppedBy } from './pauses.ts'
import { type Control, createRecords, queueOf } from './records.ts'

type Controlling = Pick<ServiceOf<typeof operations.subscriptions>, 'pause' | 'resume' | 'retry'>

/**
 * Pauses and resumes subscriptions, and tries their failed events now. `requireKnown` throws if
 * there is no such subscription.
 */
export function createControlling(deps: {
  store: Pick<Store, 'kv' | 'jobs'>
  requireKnown(name: string): void
  /** The number of events that a subscription has to send. */
  waitingOf(name: string): Promise<number>
  now(): number
}) {
  const { store, now } = deps
  const recordsOf = (name: string) => {
    deps.requireKnown(name)
    return createRecords(store.kv, name)
  }
  return {
    async pause({ name, ...fields }, call) {
      const begun = newPause(call, fields, now())
      let before: PauseRecord | undefined
      let pause: PauseRecord = begun
      await recordsOf(name).change((control) => {
        before = knownPause(control)
        pause = changedPause(before, begun)
        return { ...control, stopped: stoppedBy(pause) }
      })
      return {
        ok: true,
        paused: true,
        pause: { kind: 'subscription', name, ...pause },
        changes: pauseChange(before, pause),
      }
    },
    async resume({ name }) {
      const records = recordsOf(name)
      const before = knownPause(await records.control())
      await resumeSending({ store, records, now }, name)
      return { ok: true, ...(before && { changes: pauseChange(before, undefined) }) }
    },
    async retry({ name }) {
      await recordsOf(name).change((stored) => {
        const control = presentControl(stored, now())
        const state = control.stopped?.why === 'gone' ? 'disabled' : 'paused'
        if (control.stopped) throw new TriviumError('subscription_stopped', { name, state })
        return { ...control, resumedAt: now() }
      })
      await store.jobs.hasten(queueOf(name))
      return { ok: true, waiting: await deps.waitingOf(name) }
    },
  } satisfies Controlling
}

/** The pause, if it is known when it began. */
function knownPause(control: Control): PauseRecord | undefined {
  const { since, ...pause } = pauseIn(control) ?? {}
  return since === undefined ? undefined : { since, ...pause }
}
