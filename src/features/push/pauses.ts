import { isDeepStrictEqual } from 'node:util'
import { changeIn, isOver, type PauseRecord } from '../../core/pause-record.ts'
import type { Store } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { type Control, queueOf, type Records } from './records.ts'

type Stopped = NonNullable<Control['stopped']>

/** A pause as it is stored. */
export function stoppedBy({ since: at, by = '', reason, until, ...change }: PauseRecord): Stopped {
  return { why: 'paused', by, at, ...defined({ reason, until }), ...changeIn(change) }
}

/** The pause of a subscription, if somebody has paused it. `since` is absent in old pauses. */
export function pauseIn({
  stopped,
}: Control): (Omit<PauseRecord, 'since'> & { by: string; since?: number }) | undefined {
  if (stopped?.why !== 'paused') return undefined
  const { by, at: since, reason, until } = stopped
  return { by, ...defined({ since, reason, until }), ...changeIn(stopped) }
}

/** The control without a pause that is over. */
export function presentControl({ stopped, ...control }: Control, now: number): Control {
  return stopped && !isOver(stopped, now) ? { ...control, stopped } : control
}

/**
 * Ends what stops a subscription, and its waiting times after failures. `only`: only if this still
 * stops it.
 */
export async function resumeSending(
  { store, records, now }: { store: Pick<Store, 'jobs'>; records: Records; now(): number },
  name: string,
  only?: Stopped,
): Promise<void> {
  await records.change((control) => {
    if (only && !isDeepStrictEqual(control.stopped, only)) return control
    const { stopped: _, ...others } = control
    return { ...others, resumedAt: now() }
  })
  await store.jobs.hasten(queueOf(name))
}
