import { readParts } from '../../core/erasing.ts'
import type { Log } from '../../core/log.ts'
import type { LongJob } from '../../core/long-job.ts'
import type { Store } from '../../core/store.ts'
import { selectedBy } from '../../engine/event-range.ts'
import { eventOfDelivery } from '../../engine/queued-events.ts'
import { withdrawUnread } from '../../engine/replay-withdrawal.ts'
import { chunksOf } from '../../engine/withdrawn-events.ts'
import { defined } from '../../lib/defined.ts'
import { waitFor } from '../../lib/wait-for.ts'
import { createRecords, queueOf, type Records, type Report, type Withdrawal } from './records.ts'
import { replayCounts } from './replay-outcomes.ts'
import type { PushSubscription } from './schema.ts'

/**
 * Withdraws the events of a replay that are not delivered and not being sent. The daemon that sends
 * does it, at the request of this one. `isKnown`: false if the push is gone, and its events with it.
 */
export function createWithdrawing(store: Store, isKnown: (name: string) => boolean) {
  return async (job: LongJob, withdrawal: Withdrawal, signal: AbortSignal) => {
    const name = String(job.target.subscription)
    const records = createRecords(store.kv, name)
    if (isKnown(name)) {
      await records.change(({ withdrawals = [], ...control }) => {
        const others = withdrawals.filter(({ round }) => round !== withdrawal.round)
        return { ...control, withdrawals: [...others, { ...withdrawal, ...job.cancelled }] }
      })
      await waitFor({
        async attempt() {
          const { withdrawals = [] } = await records.control()
          return withdrawals.some(({ round }) => round === withdrawal.round) ? {} : { value: true }
        },
        watch: (wake) => store.onSignal(`kv:${records.key}`, wake),
        signal,
      })
      signal.throwIfAborted()
    }
    const kept = await countJobs(store, queueOf(name), withdrawal.round)
    const report = await records.report()
    const letters = await store.jobs.deadLetters.ids()
    const { events, delivered, dead } = replayCounts(job, report, letters)
    const { interrupted = 0 } = report.replays.find(({ round }) => round === job.startedAt) ?? {}
    const left = Math.max(0, events - delivered - dead)
    const stopped = Math.min(left, interrupted)
    const withdrawn = Math.max(0, left - stopped - kept)
    const { from, to } = (await records.withdrawn.of(withdrawal.round)) ?? {}
    const range = defined({ withdrawnFrom: from, withdrawnTo: to })
    const others = { ...(stopped > 0 && { interrupted: stopped }), ...(kept > 0 && { kept }) }
    return { withdrawn, ...others, ...range }
  }
}

/**
 * Withdraws the events of cancelled replays, while nothing is sent. Only the daemon with the lease of
 * the push does this. `ended` is called afterwards.
 */
export function createWithdrawal(
  subscription: PushSubscription,
  { store, records, log }: { store: Store; records: Records; log: Log },
  ended: () => void,
) {
  const stopping = new AbortController()
  const { signal } = stopping
  let running: Promise<void> | undefined
  return {
    isRunning: () => running !== undefined,
    /** `interrupted`: the rounds of the attempts that failed because the sending stopped. */
    begin(withdrawals: readonly Withdrawal[], interrupted: readonly number[]): void {
      running ??= withdrawReplays(subscription, withdrawals, interrupted, { store, records, signal })
        .then(
          () => true,
          (err: unknown) => {
            const message = 'a replay could not be withdrawn; trying again'
            if (!signal.aborted) log.warn({ subscription: subscription.name, err }, message)
            return false
          },
        )
        .then((isDone) => {
          running = undefined
          if (isDone) ended()
        })
    },
    /** Leaves the rest to another daemon, or to the next start. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}

/** After a crash, this is repeated. */
async function withdrawReplays(
  { name, topic }: PushSubscription,
  withdrawals: readonly Withdrawal[],
  interrupted: readonly number[],
  { store, records, signal }: { store: Store; records: Records; signal: AbortSignal },
): Promise<void> {
  const chunkOf = chunksOf(store.topics, topic)
  for (const { round, last, keep } of withdrawals) {
    const found = (ids: readonly string[]) => records.withdrawn.add(round, ids, chunkOf)
    await withdrawUnread(store.topics, { topic, group: name, round, last }, signal, found)
    await dropJobs(store, queueOf(name), { round, keep }, found)
  }
  await records.changeReport((report) => ({ ...report, replays: markWithdrawn(report, withdrawals) }))
  const stopped = interrupted.filter((round) => withdrawals.some((each) => each.round === round))
  if (stopped.length > 0)
    await records.changeReport((report) => ({
      ...report,
      replays: report.replays.map((replay) => {
        const many = stopped.filter((round) => round === replay.round).length
        const count = (replay.interrupted ?? 0) + many
        return count > 0 ? { ...replay, interrupted: count } : replay
      }),
    }))
  await records.change(({ withdrawals: known = [], ...control }) => {
    const left = known.filter(({ round }) => !withdrawals.some((done) => done.round === round))
    return left.length > 0 ? { ...control, withdrawals: left } : control
  })
}

/**
 * Notes at the replays that they were cancelled, and when. A report is written often: of the ids of
 * later replays, it gets only those with an attempt of the cancelled one.
 */
function markWithdrawn(
  { replays, attempts }: Pick<Report, 'replays' | 'attempts'>,
  withdrawals: readonly Withdrawal[],
): Report['replays'] {
  return replays.map((replay) => {
    const found = withdrawals.find(({ round }) => round === replay.round)
    if (found?.at === undefined) return replay
    const own = attempts.filter(({ since }) => since === replay.round)
    const tried = new Set(own.map(({ event }) => event))
    const keep = found.keep.map((events) =>
      events.ids ? { ...events, ids: events.ids.filter((id) => tried.has(id)) } : events,
    )
    return { ...replay, withdrawn: { at: found.at, keep, ...defined({ by: found.by }) } }
  })
}

/** Number of a replay's jobs that stay queued, because a later replay relies on them. */
async function countJobs({ erasing }: Pick<Store, 'erasing'>, queue: string, round: number) {
  let count = 0
  for await (const jobs of readParts((after) => erasing.jobs(after, { queue })))
    count += jobs.filter(({ id }) => id.endsWith(`.${round}`)).length
  return count
}

async function dropJobs(
  { erasing }: Pick<Store, 'erasing'>,
  queue: string,
  { round, keep }: Pick<Withdrawal, 'round' | 'keep'>,
  found: (events: readonly string[]) => Promise<void>,
): Promise<void> {
  const eventOf = (id: string) => eventOfDelivery(id, `${queue}/`) ?? ''
  const isKept = selectedBy(keep)
  for await (const jobs of readParts((after) => erasing.jobs(after, { queue }))) {
    const own = jobs.filter(({ id }) => id.endsWith(`.${round}`) && !isKept(eventOf(id)))
    if (own.length === 0) continue
    await found(own.map(({ id }) => eventOf(id)))
    await erasing.dropJobs(own)
  }
}
