import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { BudgetStanding } from '../core/budget.ts'
import type { GroupInfo, StoreStats, Waiting } from '../core/store.ts'
import type { Health } from '../core/transport.ts'
import { TROUBLES, type Trouble } from '../core/trouble.ts'
import type { Counts } from '../features/live/history.ts'
import { createTally } from './tally.ts'

/** Metrics in the Prometheus text format. Labels have few values: gateway, route, reason. */
export type Metrics = ReturnType<typeof createMetrics>

/** Values read when metrics are requested. */
export type Readings = {
  reload: LastReload
  gateways: readonly ({ name: string } & Health)[]
  /** Running work in this daemon, with its start (Unix ms). */
  running: readonly { road: string; gateway: string; since: number }[]
  takesWrites: boolean
  troubles: readonly Pick<Trouble, 'code'>[]
  /** Undefined if the store is unreachable. */
  stored: Stored | undefined
}

type Stored = {
  stats: StoreStats
  groups: readonly GroupInfo[]
  subscriptions: readonly { name: string; ok: boolean }[]
  waiting: readonly Waiting[]
  budgets: readonly BudgetStanding[]
}

/** Maximum number of reported groups, those furthest behind, as clients can create any number. */
const MOST_GROUPS = 500
/** Node gauges with misleading counter names. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

/** Result of the last configuration load; `at` and `goodAt` (last success) are Unix ms. */
export type LastReload = { ok: boolean; at: number; goodAt: number; error?: string }

/** Counts per road: retained messages, unfinished dispatch, untaken messages, and the other queues. */
export function roadsOf({ journal, dispatch, receive, jobs }: StoreStats) {
  const queues = jobs.map(({ queue: road, waiting, running, dead, oldestAt }) => {
    return { road, messages: waiting + running, waiting, running, dead, oldestAt }
  })
  const none = { messages: 0, waiting: 0, running: 0, dead: 0, oldestAt: undefined }
  const own = queues.find(({ road }) => road === 'dispatch') ?? none
  // The queue of messages that exceeded `max-deliveries`.
  const { dead } = queues.find(({ road }) => road === 'receive') ?? none
  return [
    { road: 'journal', ...journal },
    // Queued messages are older than those not queued yet.
    {
      ...own,
      road: 'dispatch',
      messages: own.messages + dispatch.unpumped,
      waiting: own.waiting + dispatch.unpumped,
      oldestAt: own.oldestAt ?? dispatch.oldestAt,
    },
    {
      road: 'receive',
      messages: receive.ready,
      oldestAt: receive.oldestAt,
      lost: receive.lost,
      ...(dead > 0 && { dead }),
    },
    ...queues.filter(({ road }) => road !== 'dispatch' && road !== 'receive'),
  ]
}

/** Makes a separate registry, so that several daemons can run in one process. */
export function createMetrics(build: { version: string }) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)

  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `trivium_${name}`, help, labelNames, registers })
  const tally = (name: string, help: string, ...labelNames: [string, string?]) =>
    createTally(`trivium_${name}`, help, labelNames, registers)
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `trivium_${name}`, help, labelNames, registers })
  const seconds = (name: string, help: string, ...labelNames: string[]) =>
    new Histogram({
      name: `trivium_${name}_seconds`,
      help,
      labelNames,
      registers,
      buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30, 120, 600],
    })

  const accepted = tally('accepted_total', 'Messages accepted.', 'gateway')
  const duplicates = tally('duplicates_total', 'Messages recognised by their idempotency key.', 'gateway')
  const refused = counter('refused_total', 'Messages refused, by reason.', 'gateway', 'reason')
  const taken = counter('received_total', 'Messages taken with gateway-receive.', 'gateway')
  const lost = counter('receive_lost_total', 'Messages that retention removed untaken.', 'gateway')
  const dispatched = tally('dispatched_total', 'Attempts of dispatch, by outcome.', 'route', 'outcome')
  const skillSeconds = seconds('skill', 'How long the skill of a route ran.', 'route')
  const latency = seconds('dispatch_latency', 'From acceptance to the start of the skill.', 'gateway')
  const sent = counter('sent_total', 'Attempts to send from the outbox, by outcome.', 'gateway', 'outcome')
  const sendSeconds = seconds('send', 'How long a send took that worked.', 'gateway')
  const sendLatency = seconds(
    'send_latency',
    'From the outbox to the end of the send that worked.',
    'gateway',
  )
  const pushed = counter('pushed_total', 'Attempts to push an event, by outcome.', 'subscription', 'outcome')
  const pushSeconds = seconds('push', 'How long a push took that worked.', 'subscription')
  const used = gauge('model_budget_used', 'What all have used of a budget, within its time.', 'limit')
  const most = gauge('model_budget_limit', 'What may be used of it.', 'limit')
  const models = createModelMetrics(counter)

  gauge('build_info', 'Always 1.', 'version', 'node').set({ ...build, node: process.versions.node }, 1)
  const storeUp = gauge('store_up', '1 where the store takes writes.')
  const reloaded = gauge('config_last_reload_successful', '1 where the configuration in force is the file.')
  const reloadedAt = gauge('config_last_reload_success_timestamp_seconds', 'When it was last read and right.')
  const up = gauge('gateway_up', '1 where a gateway does its work.', 'gateway')
  const connections = gauge('gateway_connections', 'Connections that are open upstream.', 'gateway')
  const heard = gauge('gateway_last_event_timestamp_seconds', 'When upstream was last heard.', 'gateway')
  const depth = gauge('depth', 'Messages that wait or are worked on, on a road.', 'road')
  const ofRoad = ['road', 'gateway']
  const waitingFor = gauge('oldest_waiting_seconds', 'Age of the oldest message that waits.', ...ofRoad)
  const runningFor = gauge('oldest_running_seconds', 'How long the oldest attempt here has run.', ...ofRoad)
  const jobs = gauge('jobs', 'Unfinished jobs, by queue and state.', 'queue', 'state')
  const deadLetters = gauge('dead_letters', 'Dead letters that are kept, by queue.', 'queue')
  const lag = gauge('group_lag', 'Events that a consumer group has not read.', 'topic', 'group')
  const reached = gauge('subscription_up', '1 where events can be pushed, or need not.', 'subscription')
  const troubleCounts = gauge('troubles', 'Entries of the list of troubles, by code.', 'code')
  const labelled = [
    up,
    connections,
    heard,
    depth,
    waitingFor,
    runningFor,
    jobs,
    deadLetters,
    lag,
    reached,
    used,
    most,
  ]

  const read = ({ takesWrites, stored, reload, gateways, running, troubles }: Readings, now: number) => {
    const age = (at: number) => Math.max(0, (now - at) / 1000)
    for (const each of labelled) each.reset()
    storeUp.set(takesWrites ? 1 : 0)
    for (const code of TROUBLES)
      troubleCounts.set({ code }, troubles.filter((one) => one.code === code).length)
    reloaded.set(reload.ok ? 1 : 0)
    reloadedAt.set(reload.goodAt / 1000)
    for (const { name: gateway, ok, gauges = {} } of gateways) {
      const { connections: open, secondsSinceEvent } = gauges
      up.set({ gateway }, ok ? 1 : 0)
      if (open !== undefined) connections.set({ gateway }, open)
      if (secondsSinceEvent !== undefined) heard.set({ gateway }, now / 1000 - secondsSinceEvent)
      for (const road of ['dispatch', 'outbox']) runningFor.set({ road, gateway }, 0)
    }
    // The oldest last, which stays.
    for (const { road, gateway, since } of running.toSorted((a, b) => b.since - a.since))
      runningFor.set({ road, gateway }, age(since))
    if (stored) readStored(stored, gateways, age)
  }

  const readStored = (stored: Stored, gateways: Readings['gateways'], age: (at: number) => number) => {
    const { stats, groups, subscriptions, waiting, budgets } = stored
    for (const standing of budgets) {
      if (standing.budget !== 'total') continue
      used.set({ limit: standing.limit }, standing.used)
      most.set({ limit: standing.limit }, standing.most)
    }
    for (const { road, messages } of roadsOf(stats)) depth.set({ road }, messages)
    for (const queue of ['dispatch', 'outbox']) deadLetters.set({ queue }, 0)
    for (const { queue, waiting, running, dead } of stats.jobs) {
      jobs.set({ queue, state: 'waiting' }, waiting)
      jobs.set({ queue, state: 'running' }, running)
      deadLetters.set({ queue }, dead)
    }
    // Counted by the store for all daemons. Starts at 0, so that the first increase is visible.
    lost.reset()
    for (const { name: gateway } of gateways) {
      lost.inc({ gateway }, 0)
      for (const road of ['dispatch', 'receive', 'outbox']) waitingFor.set({ road, gateway }, 0)
    }
    for (const [gateway, count] of Object.entries(stats.receive.lost)) lost.inc({ gateway }, count)
    // The oldest last, so that it is kept; includes jobs in back-off.
    for (const { road, gateway, oldestAt } of waiting.toSorted((a, b) => b.oldestAt - a.oldestAt))
      waitingFor.set({ road, gateway }, age(oldestAt))
    const furthest = groups.toSorted((a, b) => b.lag - a.lag).slice(0, MOST_GROUPS)
    for (const { topic, group, lag: behind } of furthest) lag.set({ topic, group }, behind)
    for (const { name, ok } of subscriptions) reached.set({ subscription: name }, ok ? 1 : 0)
  }

  // Avoids prom-client's label lookup on each call.
  const secondsOf = perLabel((route) => skillSeconds.labels({ route }))
  const latencyOf = perLabel((gateway) => latency.labels({ gateway }))

  return {
    accepted: (gateway: string, duplicate: boolean) => (duplicate ? duplicates : accepted).add(gateway),
    refused: (gateway: string, reason: string) => refused.inc({ gateway, reason }),
    dispatch: {
      dispatched(route: string, outcome: string, took: number) {
        dispatched.add(route, outcome)
        if (outcome !== 'unrouted') secondsOf(route).observe(took)
      },
      latency: (gateway: string, took: number) => latencyOf(gateway).observe(took),
    },
    taken: (gateway: string) => taken.inc({ gateway }),
    pushed(subscription: string, outcome: string, took?: number) {
      pushed.inc({ subscription, outcome })
      if (took !== undefined) pushSeconds.observe({ subscription }, took)
    },
    sent(gateway: string, outcome: string, took?: { attempt: number; total: number }) {
      sent.inc({ gateway, outcome })
      if (!took) return
      sendSeconds.observe({ gateway }, took.attempt)
      sendLatency.observe({ gateway }, took.total)
    },
    ...models,
    /** `failed` counts attempts, including final ones. */
    async counts(): Promise<Counts> {
      const sum = async (counter: Counter, outcome?: string) =>
        (await counter.get()).values
          .filter(({ labels }) => outcome === undefined || labels.outcome === outcome)
          .reduce((total, { value }) => total + value, 0)
      const [dead, retried] = await Promise.all([
        sum(dispatched.counter, 'dead'),
        sum(dispatched.counter, 'retry'),
      ])
      return {
        accepted: await sum(accepted.counter),
        done: await sum(dispatched.counter, 'done'),
        failed: dead + retried,
        dead,
        unrouted: await sum(dispatched.counter, 'unrouted'),
        sent: await sum(sent, 'sent'),
        refused: await sum(refused),
        latency: await bucketsOf(latency),
      }
    },
    /** The response of `/metrics`. */
    async page(readings: Readings, now: number): Promise<{ type: string; body: string }> {
      read(readings, now)
      return { type: registry.contentType, body: await registry.metrics() }
    },
  }
}

type MakeCounter = (name: string, help: string, ...labelNames: string[]) => Counter

/** What models used and cost, and the runs that wait for a budget. */
function createModelMetrics(counter: MakeCounter) {
  const overBudget = counter('model_budget_refused_total', 'Runs of models that wait for a budget.', 'budget')
  const tokens = counter('model_tokens_total', 'Tokens that models used.', 'model', 'direction')
  const cost = counter('model_cost_total', 'What models cost, by `prices`, in their currency.', 'model')
  return {
    tokens(model: string, input: number, output: number) {
      tokens.inc({ model, direction: 'input' }, input)
      tokens.inc({ model, direction: 'output' }, output)
    },
    cost: (model: string, money: number) => cost.inc({ model }, money),
    overBudget: (budget: string) => overBudget.inc({ budget }),
  }
}

/** Number of observations within each bucket, over all labels. */
async function bucketsOf(histogram: Histogram): Promise<Counts['latency']> {
  const within = new Map<number, number>()
  for (const { labels, value, metricName } of (await histogram.get()).values) {
    const le = Number(String(labels.le).replace('+Inf', 'Infinity'))
    if (metricName?.endsWith('_bucket')) within.set(le, (within.get(le) ?? 0) + value)
  }
  return [...within].map(([le, count]) => ({ le, count }))
}

/** Caches `make` per label; labels are names of the configuration. */
function perLabel<Child>(make: (label: string) => Child): (label: string) => Child {
  const made = new Map<string, Child>()
  return (label) => {
    const child = made.get(label) ?? make(label)
    made.set(label, child)
    return child
  }
}
