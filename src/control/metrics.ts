import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { GroupInfo, StoreStats } from '../core/store.ts'
import type { Health } from '../core/transport.ts'

/** What the daemon measures, in the Prometheus text format. Labels have few values: gateway, route, reason. */
export type Metrics = ReturnType<typeof createMetrics>

/** What is read from the store when somebody asks for metrics. */
export type Readings = {
  stats: StoreStats
  reload: LastReload
  groups: readonly GroupInfo[]
  gateways: readonly ({ name: string } & Health)[]
  subscriptions: readonly { name: string; ok: boolean }[]
}

/** What the last reading of the configuration came to; `at` and `goodAt` (the last one that worked) are Unix ms. */
export type LastReload = { ok: boolean; at: number; goodAt: number; error?: string }

/** What is on each road: what is kept, what dispatch is not done with, what nobody has taken, and the other queues. */
export function roadsOf({ journal, dispatch, receive, jobs }: StoreStats) {
  const queues = jobs.map(({ queue: road, waiting, running, dead, oldestAt }) => {
    return { road, messages: waiting + running, dead, oldestAt }
  })
  const own = queues.find(({ road }) => road === 'dispatch') ?? { messages: 0, oldestAt: undefined }
  return [
    { road: 'journal', ...journal },
    // What is in the queue came before what is not yet.
    {
      ...own,
      road: 'dispatch',
      messages: own.messages + dispatch.unpumped,
      oldestAt: own.oldestAt ?? dispatch.oldestAt,
    },
    { road: 'receive', messages: receive.ready, oldestAt: receive.oldestAt, lost: receive.lost },
    ...queues.filter(({ road }) => road !== 'dispatch'),
  ]
}

/** How often things happened since the start, and in how many seconds skills began: so many within `le`. */
export type Counts = Record<
  'accepted' | 'done' | 'failed' | 'dead' | 'unrouted' | 'sent' | 'refused',
  number
> & {
  latency: { le: number; count: number }[]
}

/** Makes a registry of its own, so that several daemons can live in one process. */
export function createMetrics(build: { version: string }) {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })

  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new Counter({ name: `trivium_${name}`, help, labelNames, registers })
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

  const accepted = counter('accepted_total', 'Messages accepted.', 'gateway')
  const duplicates = counter('duplicates_total', 'Messages recognised by their idempotency key.', 'gateway')
  const refused = counter('refused_total', 'Messages refused, by reason.', 'gateway', 'reason')
  const taken = counter('received_total', 'Messages taken with gateway-receive.', 'gateway')
  const lost = counter('receive_lost_total', 'Messages that retention removed untaken.', 'gateway')
  const dispatched = counter('dispatched_total', 'Attempts of dispatch, by outcome.', 'route', 'outcome')
  const skillSeconds = seconds('skill', 'How long the skill of a route ran.', 'route')
  const latency = seconds('dispatch_latency', 'From acceptance to the start of the skill.', 'gateway')
  const sent = counter('sent_total', 'Attempts to send from the outbox, by outcome.', 'gateway', 'outcome')
  const pushed = counter('pushed_total', 'Attempts to push an event, by outcome.', 'subscription', 'outcome')
  const tokens = counter('model_tokens_total', 'Tokens that models used.', 'model', 'direction')

  gauge('build_info', 'Always 1.', 'version', 'node').set({ ...build, node: process.versions.node }, 1)
  const depth = gauge('depth', 'Messages that wait or are worked on, on a road.', 'road')
  const oldest = gauge('oldest_age_seconds', 'Age of the oldest message that waits or is worked on.', 'road')
  const reloaded = gauge('config_last_reload_successful', '1 where the configuration in force is the file.')
  const reloadedAt = gauge('config_last_reload_success_timestamp_seconds', 'When it was last read and right.')
  const jobs = gauge('jobs', 'Jobs, by queue and state.', 'queue', 'state')
  const lag = gauge('group_lag', 'Events that a consumer group has not read.', 'topic', 'group')
  const healthy = gauge('gateway_healthy', '1 where a gateway does its work.', 'gateway')
  const reached = gauge('subscription_healthy', '1 where events can be pushed, or need not.', 'subscription')
  const connections = gauge('transport_connections', 'Connections that are open upstream.', 'gateway')
  const silence = gauge('transport_seconds_since_event', 'Seconds since upstream was last heard.', 'gateway')

  const read = ({ stats, reload, groups, gateways, subscriptions }: Readings, now: number) => {
    for (const { road, messages, oldestAt = now } of roadsOf(stats)) {
      depth.set({ road }, messages)
      if (road !== 'journal') oldest.set({ road }, Math.max(0, (now - oldestAt) / 1000))
    }
    reloaded.set(reload.ok ? 1 : 0)
    reloadedAt.set(reload.goodAt / 1000)
    for (const { queue, waiting, running, dead } of stats.jobs) {
      for (const [state, count] of Object.entries({ waiting, running, dead }))
        jobs.set({ queue, state }, count)
    }
    // The store counts them, for all daemons.
    lost.reset()
    for (const [gateway, count] of Object.entries(stats.receive.lost)) lost.inc({ gateway }, count)
    lag.reset()
    for (const { topic, group, lag: behind } of groups) lag.set({ topic, group }, behind)
    for (const each of [healthy, reached, connections, silence]) each.reset()
    for (const { name, ok } of subscriptions) reached.set({ subscription: name }, ok ? 1 : 0)
    for (const { name: gateway, ok, gauges = {} } of gateways) {
      const { connections: open, secondsSinceEvent } = gauges
      healthy.set({ gateway }, ok ? 1 : 0)
      if (open !== undefined) connections.set({ gateway }, open)
      if (secondsSinceEvent !== undefined) silence.set({ gateway }, secondsSinceEvent)
    }
  }

  return {
    accepted: (gateway: string, duplicate: boolean) => (duplicate ? duplicates : accepted).inc({ gateway }),
    refused: (gateway: string, reason: string) => refused.inc({ gateway, reason }),
    dispatch: {
      dispatched(route: string, outcome: string, took: number) {
        dispatched.inc({ route, outcome })
        if (outcome !== 'unrouted') skillSeconds.observe({ route }, took)
      },
      latency: (gateway: string, took: number) => latency.observe({ gateway }, took),
    },
    taken: (gateway: string) => taken.inc({ gateway }),
    pushed: (subscription: string, outcome: string) => pushed.inc({ subscription, outcome }),
    sent: (gateway: string, outcome: string) => sent.inc({ gateway, outcome }),
    tokens(model: string, input: number, output: number) {
      tokens.inc({ model, direction: 'input' }, input)
      tokens.inc({ model, direction: 'output' }, output)
    },
    /** `failed` are attempts, those of which a message died among them. */
    async counts(): Promise<Counts> {
      const sum = async (counter: Counter, outcome?: string) =>
        (await counter.get()).values
          .filter(({ labels }) => outcome === undefined || labels.outcome === outcome)
          .reduce((total, { value }) => total + value, 0)
      const [dead, retried] = await Promise.all([sum(dispatched, 'dead'), sum(dispatched, 'retry')])
      const within = new Map<number, number>()
      for (const { labels, value, metricName } of (await latency.get()).values) {
        const le = Number(String(labels.le).replace('+Inf', 'Infinity'))
        if (metricName?.endsWith('_bucket')) within.set(le, (within.get(le) ?? 0) + value)
      }
      return {
        accepted: await sum(accepted),
        done: await sum(dispatched, 'done'),
        failed: dead + retried,
        dead,
        unrouted: await sum(dispatched, 'unrouted'),
        sent: await sum(sent, 'sent'),
        refused: await sum(refused),
        latency: [...within].map(([le, count]) => ({ le, count })),
      }
    },
    /** The page of `/metrics`; without readings (the store is away) only what this process counted. */
    async page(readings: Readings | undefined, now: number): Promise<{ type: string; body: string }> {
      if (readings) read(readings, now)
      return { type: registry.contentType, body: await registry.metrics() }
    },
  }
}
