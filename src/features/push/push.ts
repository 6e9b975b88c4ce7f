import { isDeepStrictEqual } from 'node:util'
import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { PushSubscription } from '../../core/push.ts'
import type { Services, SubscriptionInfo } from '../../core/services.ts'
import type { GroupInfo, Store, StoreStats } from '../../core/store.ts'
import type { ReplayEvents } from '../../engine/replay-events.ts'
import { defined } from '../../lib/defined.ts'
import { createLoop } from '../../lib/loop.ts'
import { didYouMean } from '../../lib/nearest.ts'
import { isFailing } from './circuit.ts'
import { type Control, createRecords, queueOf, type Report } from './records.ts'
import type { SendingDeps } from './sending.ts'

/** One daemon serves a subscription; another does when this one has not renewed its lease for so long (ms). */
const LEASE = 5_000
const RENEW = 1_500
/** What is under way gets this long (ms) when its subscription is changed. */
const GRACE = 10_000
/** Ms. A group that nobody reads from is removed after days. */
const KEEP = 3_600_000

type PushDeps = SendingDeps & {
  store: Store
  /** Shows the group of a subscription again what it has consumed. */
  replay: ReplayEvents
  /** Names this daemon. */
  owner: string
}

/** Push subscriptions: `use` says which there are; they are served between `start` and `stop`. */
export function createPush(deps: PushDeps) {
  const { store, now } = deps
  let subscriptions: readonly PushSubscription[] = []
  let isStarted = false
  let keeping: NodeJS.Timeout | undefined
  const serving = new Map<string, ReturnType<typeof serve>>()
  const end = async (name: string, grace: number) => {
    await serving.get(name)?.stop(grace)
    serving.delete(name)
  }
  const keep = async () => {
    for (const { topic, name } of subscriptions) await store.topics.subscribe(topic, name, 'now')
  }
  const begin = () => {
    for (const each of subscriptions) if (!serving.has(each.name)) serving.set(each.name, serve(each, deps))
  }

  const list = async (shown = subscriptions): Promise<SubscriptionInfo[]> => {
    if (shown.length === 0) return []
    const [stats, groups] = await Promise.all([store.stats(), store.topics.groups()])
    return Promise.all(
      shown.map(async ({ name, topic, url }) => {
        const records = createRecords(store.kv, name)
        const [control, report] = await Promise.all([records.control(), records.report()])
        const jobs = stats.jobs.find(({ queue }) => queue === queueOf(name))
        const group = groups.find((each) => each.topic === topic && each.group === name)
        // What stands behind a `?` may be a key.
        const where = { name, topic, url: url.split('?')[0] ?? '' }
        const { attempts } = report
        return { ...where, ...standing(control, report), ...countsOf(jobs, group), attempts }
      }),
    )
  }
  const find = (name: string) => {
    const found = subscriptions.find((each) => each.name === name)
    const names = subscriptions.map((each) => each.name)
    if (!found) throw new TriviumError('subscription_not_found', { name, hint: didYouMean(name, names) })
    return { ...found, records: createRecords(store.kv, name) }
  }

  const service = {
    list: async () => (await list()).map(({ attempts: _, ...info }) => info),
    async show({ name }) {
      return (await list([find(name)]))[0] ?? null
    },
    async pause({ name }, { caller }) {
      const stopped = { why: 'paused', by: caller.id ?? caller.kind, at: now() } as const
      await find(name).records.change((control) => ({ ...control, stopped }))
      return { ok: true }
    },
    async resume({ name }) {
      await find(name).records.change(({ stopped: _, ...control }) => ({ ...control, resumedAt: now() }))
      return { ok: true }
    },
    async replay({ name, ...range }, call) {
      const { topic, records } = find(name)
      await store.topics.subscribe(topic, name, 'now')
      // Before an event is shown again: what became a job must become one again.
      await records.change((control) => ({ ...control, replay: { since: 0, number: now() } }))
      const job = await deps.replay({ topic, group: name, subscription: name, range }, call)
      return { ok: true, job }
    },
  } satisfies Services['subscriptions']

  return {
    service,
    attemptsOf: (messageId: string) => attemptsOf(store, subscriptions, messageId),
    /** Puts these in force. Their groups are there when it resolves: what comes in after it is pushed. */
    async use(next: readonly PushSubscription[]): Promise<void> {
      subscriptions = next
      await keep()
      for (const [name, { subscription }] of serving) {
        if (!next.some((each) => isDeepStrictEqual(each, subscription))) await end(name, GRACE)
      }
      if (isStarted) begin()
    },
    start(): void {
      isStarted = true
      begin()
      const failed = (err: unknown) => deps.log.warn({ err }, 'the groups of subscriptions cannot be kept')
      keeping = setInterval(() => void keep().catch(failed), KEEP)
    },
    async stop(grace: number): Promise<void> {
      isStarted = false
      clearInterval(keeping)
      await Promise.all([...serving.keys()].map((name) => end(name, grace)))
    },
  }
}

/** The attempts to push the event of a message, as far as each subscription remembers them. */
async function attemptsOf(store: Store, subscriptions: readonly PushSubscription[], messageId: string) {
  const mine = subscriptions.filter(({ topic }) => topic === MESSAGE_TOPIC)
  const found = mine.map(async ({ name }) => {
    const { attempts } = await createRecords(store.kv, name).report()
    return attempts
      .filter(({ event }) => event === messageId)
      .map((each) => ({ subscription: name, ...each }))
  })
  return (await Promise.all(found)).flat()
}

/** Serves a subscription whenever no other daemon does, as its control says. */
function serve(subscription: PushSubscription, deps: PushDeps) {
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

function countsOf(jobs: StoreStats['jobs'][number] | undefined, group: GroupInfo | undefined) {
  const queued = (jobs?.waiting ?? 0) + (jobs?.running ?? 0)
  const unread = (group?.lag ?? 0) + (group?.pending ?? 0)
  return { waiting: queued + unread, queued, unread, dead: jobs?.dead ?? 0 }
}

function standing(
  { stopped }: Control,
  report: Report,
): Pick<SubscriptionInfo, 'ok' | 'state' | 'detail' | 'paused'> {
  if (stopped?.why === 'paused') {
    const { by, at: since } = stopped
    return { ok: true, state: 'paused', detail: `by ${by}`, paused: { by, ...defined({ since }) } }
  }
  if (stopped) return { ok: false, state: 'disabled', detail: 'its receiver is gone (410)' }
  if (!isFailing(report)) return { ok: true, state: 'active' }
  return {
    ok: false,
    state: 'failing',
    detail: `${report.failures} times in a row: ${report.attempts[0]?.reason}`,
  }
}
