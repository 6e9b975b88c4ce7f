import { isDeepStrictEqual } from 'node:util'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Jobs, Store } from '../../core/store.ts'
import { HOUR, MINUTE } from '../../core/units.ts'
import { createLoop } from '../../lib/loop.ts'
import { withEnded } from './ended.ts'
import { type Cancel, createPauseRecords, PAUSES_KEY, type PauseState } from './records.ts'
import { createPauseView, type PausableJob } from './view.ts'

/** Polling interval (ms) for pauses, in addition to signals. */
const POLL_INTERVAL = 5_000
/**
 * For how long (ms) after a change of the pauses every poll checks the held jobs: a job that was
 * claimed before the change may be held after it.
 */
const CHECK_AFTER_CHANGE = 30_000
/** Interval (ms) between later checks, in case the daemon that had to release jobs was killed. */
const CHECK_INTERVAL = 10 * MINUTE
/** Number of held jobs that are read at a time. */
const PAGE_SIZE = 500
/** How long (ms) a cancellation is kept if the daemon that made it was killed. */
const CANCEL_TTL = HOUR

/**
 * Pauses of gateways, routes, skills and conversations, and cancelled runs: one value in the store,
 * and a view in each daemon.
 */
export function createPauses(deps: {
  store: Pick<Store, 'kv' | 'onSignal'> & { jobs: Pick<Jobs, 'held' | 'unhold'> }
  routes(): readonly { name: string; skill?: string | undefined }[]
  /** The queues of dispatch and of schedule runs. */
  queues: { dispatch: string; schedules: string }
  log: Log
  now(): number
}) {
  const { store, queues, log, now } = deps
  const records = createPauseRecords(store.kv)
  const view = createPauseView(deps.routes, now)
  let onCancel: (cancel: Cancel, error: TriviumError) => void = () => {}
  /** The pauses at the last check of held jobs. */
  let checkedPauses: unknown
  let checkUntil = 0
  let checkedAt = Number.NEGATIVE_INFINITY
  let unsubscribe = () => {}

  /** Applies a state, and releases jobs that are no longer held. */
  const apply = async (state: PauseState) => {
    view.use(state)
    for (const cancel of state.cancels) onCancel(cancel, cancelError(cancel))
    const active = view.list()
    const isChanged = !isDeepStrictEqual(active, checkedPauses)
    if (isChanged) checkUntil = now() + CHECK_AFTER_CHANGE
    if (!isChanged && now() > checkUntil && now() - checkedAt < CHECK_INTERVAL) return
    // The held jobs of unreachable shards are checked at the next poll.
    if (!(await releaseAll(store.jobs, queues, view))) return
    checkedPauses = active
    checkedAt = now()
  }

  /** Applies the stored pauses and removes expired ones. Resolves with the ms to the next poll. */
  const poll = async (): Promise<number> => {
    const state = await records.load()
    await apply(state)
    const isOld = ({ at }: Cancel) => at < now() - CANCEL_TTL
    if (state.pauses.some(view.isExpired) || state.cancels.some(isOld))
      await records.change((before) => {
        const pauses = before.pauses.filter((one) => !view.isExpired(one))
        const cancels = before.cancels.filter((one) => !isOld(one))
        return withEnded(before, { pauses, cancels }, now())
      })
    const timesLeft = state.pauses
      .map(({ until }) => (until === undefined ? 0 : until - now()))
      .filter((ms) => ms > 0)
    return Math.min(POLL_INTERVAL, ...timesLeft)
  }
  const loop = createLoop({
    step: poll,
    failed: (err) => log.warn({ err }, 'the pauses could not be read; trying again'),
    pause: 1_000,
  })

  return {
    view,
    records,
    /** Writes a change and applies it here immediately. `by`: who made it. */
    async change(change: (state: PauseState) => PauseState | undefined, by?: string): Promise<void> {
      await apply(await records.change(endingWith(change, now, by)))
    },
    /** Sets the function that is called for each run to be cancelled. */
    onCancel(listener: typeof onCancel): void {
      onCancel = listener
    },
    /** Reads the pauses. Call it before anything is dispatched. */
    async prepare(): Promise<void> {
      view.use(await records.load())
    },
    /** Follows changes by all daemons. */
    start(): void {
      unsubscribe = store.onSignal(`kv:${PAUSES_KEY}`, loop.wake)
      loop.start()
    },
    async stop(): Promise<void> {
      unsubscribe()
      await loop.stop()
    },
  }
}

export type Pauses = ReturnType<typeof createPauses>

/** Makes `change` also record the pauses that it ends. */
function endingWith(
  change: (state: PauseState) => PauseState | undefined,
  now: () => number,
  by: string | undefined,
) {
  return (before: PauseState) => {
    const after = change(before)
    return after && withEnded(before, after, now(), by)
  }
}

/**
 * Releases the jobs that no pause holds any more. Returns false if a shard with such jobs may be
 * unreachable.
 */
async function releaseAll(
  jobs: Pick<Jobs, 'held' | 'unhold'>,
  queues: { dispatch: string; schedules: string },
  { holds, holdsSkill }: Pick<ReturnType<typeof createPauseView>, 'holds' | 'holdsSkill'>,
): Promise<boolean> {
  const ofDispatch = await releaseJobs(jobs, queues.dispatch, holds)
  const ofSchedules = await releaseJobs(jobs, queues.schedules, ({ group }) => holdsSkill(group))
  return ofDispatch.areAll && ofSchedules.areAll
}

/**
 * Releases the jobs of a queue that no pause holds any more. `areAll`: no shard was unreachable.
 */
async function releaseJobs(
  jobs: Pick<Jobs, 'held' | 'unhold'>,
  queue: string,
  isHeld: (job: PausableJob) => boolean,
): Promise<{ areAll: boolean }> {
  let after = ''
  let areAll = true
  let page: Awaited<ReturnType<typeof jobs.held>>
  do {
    page = await jobs.held(queue, after, PAGE_SIZE)
    const free = page.items.filter((job) => !isHeld(job)).map(({ id }) => id)
    if (free.length > 0) await jobs.unhold(queue, free)
    areAll &&= page.away === undefined
    after = page.items.at(-1)?.id ?? after
  } while (page.more)
  return { areAll }
}

/** The reason of a cancelled attempt, as in its dead letter. */
export function cancelError({ messageId: id, by, reason, isGivenUp }: Cancel): TriviumError {
  return new TriviumError('run_cancelled', { did: isGivenUp ? 'Given up' : 'Cancelled', id, by, reason })
}
