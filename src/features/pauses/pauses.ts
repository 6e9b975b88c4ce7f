import { isDeepStrictEqual } from 'node:util'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Jobs, Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { type Cancel, createPauseRecords, PAUSES_KEY, type PauseState } from './records.ts'
import { createPauseView, type Held } from './view.ts'

/** Polling interval (ms) for pauses, in addition to signals. */
const ROUND = 5_000
/** How long (ms) to keep looking for jobs that were claimed before a change and held after it. */
const SETTLING = 30_000
/** Interval (ms) of further checks, for daemons that were killed in between. */
const RECHECK_EVERY = 600_000
const PAGE = 500
/** How long (ms) a cancelled run is kept if its daemon was killed. */
const CANCEL_KEPT = 3_600_000

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
  let cancel: (one: Cancel, error: TriviumError) => void = () => {}
  let seen: unknown
  let checkUntil = 0
  let checkedAt = Number.NEGATIVE_INFINITY
  let off = () => {}

  /** Applies a state, and releases jobs that are no longer held. */
  const use = async (state: PauseState) => {
    view.use(state)
    for (const one of state.cancels) cancel(one, cancelError(one))
    const active = view.list()
    const isChanged = !isDeepStrictEqual(active, seen)
    if (isChanged) checkUntil = now() + SETTLING
    if (!isChanged && now() > checkUntil && now() - checkedAt < RECHECK_EVERY) return
    await recheck(store.jobs, queues.dispatch, view.holds)
    await recheck(store.jobs, queues.schedules, ({ group }) => view.holdsSkill(group))
    ;[seen, checkedAt] = [active, now()]
  }

  /** Removes pauses that have expired. Returns the ms until the next one does. */
  const round = async (): Promise<number> => {
    const state = await records.load()
    await use(state)
    const isOld = ({ at }: Cancel) => at < now() - CANCEL_KEPT
    if (state.pauses.some(view.isOver) || state.cancels.some(isOld))
      await records.change(({ pauses, cancels }) => ({
        pauses: pauses.filter((one) => !view.isOver(one)),
        cancels: cancels.filter((one) => !isOld(one)),
      }))
    const ends = state.pauses.flatMap((one) =>
      one.kind === 'conversation' && one.until ? one.until - now() : [],
    )
    return Math.max(0, Math.min(ROUND, ...ends.filter((ms) => ms > 0)))
  }
  const loop = createLoop({
    step: round,
    failed: (err) => log.warn({ err }, 'the pauses could not be read; trying again'),
    pause: 1_000,
  })

  return {
    view,
    records,
    /** Writes a change and applies it here immediately. */
    async change(change: (state: PauseState) => PauseState | undefined): Promise<void> {
      await use(await records.change(change))
    },
    /** Called for each run to be cancelled. */
    onCancel(listener: typeof cancel): void {
      cancel = listener
    },
    /** Reads the pauses before anything is dispatched, and follows changes. */
    async prepare(): Promise<void> {
      view.use(await records.load())
    },
    start(): void {
      off = store.onSignal(`kv:${PAUSES_KEY}`, loop.wake)
      loop.start()
    },
    async stop(): Promise<void> {
      off()
      await loop.stop()
    },
  }
}

export type Pauses = ReturnType<typeof createPauses>

/** Releases jobs that are no longer held. */
async function recheck(
  jobs: Pick<Jobs, 'held' | 'unhold'>,
  queue: string,
  isHeld: (job: Held) => boolean,
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await jobs.held(queue, after, PAGE)
    const free = page.items.filter((job) => !isHeld(job)).map(({ id }) => id)
    if (free.length > 0) await jobs.unhold(queue, free)
    if (!page.more) return
    after = page.items.at(-1)?.id ?? after
  }
}

/** The reason of a cancelled attempt, as in its dead letter. */
export function cancelError({ messageId: id, by, reason }: Cancel): TriviumError {
  return new TriviumError('run_cancelled', { id, by, reason })
}
