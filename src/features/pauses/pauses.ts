import { isDeepStrictEqual } from 'node:util'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { messageOfJob } from '../../core/resumed-job.ts'
import type { Jobs, Store } from '../../core/store.ts'
import { HOUR, MINUTE } from '../../core/units.ts'
import { createLoop } from '../../lib/loop.ts'
import { withEnded } from './ended.ts'
import { createHeldCalls, type HeldCalls } from './held-calls.ts'
import type { PausableJob } from './lookup.ts'
import { type Cancel, createPauseRecords, PAUSES_KEY, type PauseRecords, type PauseState } from './records.ts'
import { createPauseView } from './view.ts'

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
  /** The queues of dispatch, and of runs without a message: of schedules and subscribed events. */
  queues: Queues
  log: Log
  now(): number
}) {
  const { store, queues, log, now } = deps
  const records = createPauseRecords(store.kv)
  const inOrder = createOrder(records)
  const calls = createHeldCalls(store.kv, now)
  const view = createPauseView(deps.routes, now, calls, queues.runs)
  const holdCall = createHoldCall(view, calls)
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
    if (hasSkills(state)) await calls.refresh()
    const active = view.list()
    const isChanged = !isDeepStrictEqual(active, checkedPauses)
    if (isChanged) checkUntil = now() + CHECK_AFTER_CHANGE
    if (!isChanged && now() > checkUntil && now() - checkedAt < CHECK_INTERVAL) return
    // The held jobs of unreachable shards are checked at the next poll.
    if (!(await releaseAll(store.jobs, queues, view, calls))) return
    checkedPauses = active
    checkedAt = now()
  }

  const loop = createLoop({
    step: () => poll({ records: inOrder, view, apply, now }),
    failed: (err) => log.warn({ err }, 'the pauses could not be read; trying again'),
    pause: 1_000,
  })

  return {
    view,
    records,
    calls,
    holdCall,
    /** Holds runs without a message: of schedules and subscribed events. */
    ofRuns: { isHeld: view.holdsRun, holdCall, pauseOfSkill: view.pauseOfSkill },
    /** Writes a change and applies it here immediately. `by`: who made it. */
    async change(change: (state: PauseState) => PauseState | undefined, by?: string): Promise<void> {
      await apply(await inOrder.change(endingWith(change, now, by)))
    },
    /** Sets the function that is called for each run to be cancelled. */
    onCancel(listener: typeof onCancel): void {
      onCancel = listener
    },
    /** Reads the pauses. Call it before anything is dispatched. */
    async prepare(): Promise<void> {
      const state = await records.load()
      view.use(state)
      if (hasSkills(state)) await calls.refresh()
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

/**
 * Makes the function that records that a job waits for a paused skill. It returns false if the skill was
 * resumed meanwhile: nothing would release the job for a while.
 */
function createHoldCall(
  view: Pick<ReturnType<typeof createPauseView>, 'pauseOfSkill'>,
  calls: Pick<HeldCalls, 'add'>,
) {
  return async ({ id }: { id: string }, skill: string): Promise<boolean> => {
    if (!view.pauseOfSkill(skill)) return false
    await calls.add(id, skill)
    return true
  }
}

export type Pauses = ReturnType<typeof createPauses>

/**
 * Reads and changes the pauses. A read resolves with undefined if they were changed meanwhile: it may
 * lack the change, which is already applied.
 */
function createOrder(records: Pick<PauseRecords, 'load' | 'change'>) {
  let changes = 0
  return {
    async load(): Promise<PauseState | undefined> {
      const before = changes
      const state = await records.load()
      return changes === before ? state : undefined
    },
    async change(change: (state: PauseState) => PauseState | undefined): Promise<PauseState> {
      const state = await records.change(change)
      changes++
      return state
    },
  }
}

/** Applies the stored pauses and removes expired ones. Resolves with the ms to the next poll. */
async function poll(of: {
  records: ReturnType<typeof createOrder>
  view: Pick<ReturnType<typeof createPauseView>, 'isExpired'>
  apply(state: PauseState): Promise<void>
  now(): number
}): Promise<number | 'again'> {
  const { records, view, now } = of
  const state = await records.load()
  if (state === undefined) return 'again'
  await of.apply(state)
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

type Queues = { dispatch: string; runs: readonly string[] }

function hasSkills({ pauses }: Pick<PauseState, 'pauses'>): boolean {
  return pauses.some(({ kind }) => kind === 'skill')
}

/**
 * Releases the jobs that no pause holds any more. Returns false if a shard with such jobs may be
 * unreachable.
 */
async function releaseAll(
  jobs: Pick<Jobs, 'held' | 'unhold'>,
  queues: Queues,
  { holds, holdsRun, list }: Pick<ReturnType<typeof createPauseView>, 'holds' | 'holdsRun' | 'list'>,
  calls: HeldCalls,
): Promise<boolean> {
  const of = { calls, mayHaveCalls: hasSkills({ pauses: list() }) }
  let areAll = await releaseJobs(jobs, queues.dispatch, { ...of, isHeld: holds, nameOf: messageOfJob })
  for (const queue of queues.runs)
    areAll = (await releaseJobs(jobs, queue, { ...of, isHeld: holdsRun, nameOf: (id) => id })) && areAll
  return areAll
}

/**
 * Releases the jobs of a queue that no pause holds any more. Returns false if a shard was unreachable.
 * `nameOf`: the name of a job in `calls`. `mayHaveCalls`: a skill is paused.
 */
async function releaseJobs(
  jobs: Pick<Jobs, 'held' | 'unhold'>,
  queue: string,
  of: {
    isHeld(job: PausableJob): boolean
    calls: HeldCalls
    mayHaveCalls: boolean
    nameOf(id: string): string
  },
): Promise<boolean> {
  let after = ''
  let areAll = true
  let page: Awaited<ReturnType<typeof jobs.held>>
  do {
    page = await jobs.held(queue, after, PAGE_SIZE)
    let free = page.items.filter((job) => !of.isHeld(job))
    // Another daemon may have held some since the calls were read.
    if (free.length > 0 && of.mayHaveCalls) {
      await of.calls.refresh()
      free = free.filter((job) => !of.isHeld(job))
    }
    const named = free.map(({ id }) => of.nameOf(id))
    if (of.calls.areSome(named)) await of.calls.remove(named)
    if (free.length > 0)
      await jobs.unhold(
        queue,
        free.map(({ id }) => id),
      )
    areAll &&= page.away === undefined
    after = page.items.at(-1)?.id ?? after
  } while (page.more)
  return areAll
}

/** The reason of a cancelled attempt, as in its dead letter. */
export function cancelError({ messageId: id, by, reason, isGivenUp }: Cancel): TriviumError {
  return new TriviumError('run_cancelled', { did: isGivenUp ? 'Given up' : 'Cancelled', id, by, reason })
}
