import type { Counter, Histogram } from 'prom-client'
import type { Counts } from '../../features/live/history.ts'
import type { Makers } from './makers.ts'

/** Metrics of this daemon's work on messages. Durations (`took`) are in seconds. */
export function createWorkMetrics({ counter, fastSeconds, seconds, tally }: Makers) {
  const accepted = tally('accepted_total', 'Messages accepted.', 'gateway')
  const duplicates = tally(
    'duplicates_total',
    'Repeated messages, recognised by their idempotency key.',
    'gateway',
  )
  const refused = counter(
    'refused_total',
    'Deliveries that were not accepted, and replies that were not sent (reply:…), by reason.',
    'gateway',
    'reason',
  )
  const taken = counter('received_total', 'Messages received with gateway-receive.', 'gateway')
  const dispatched = tally(
    'dispatched_total',
    'Attempts of dispatch, and messages without a route (unrouted), by outcome.',
    'route',
    'outcome',
  )
  const skillSeconds = fastSeconds('skill', 'Run time of the skill of a route.', 'route')
  const latency = fastSeconds(
    'dispatch_latency',
    'Time from acceptance to the start of the skill, without the time in pauses. ' +
      'Retried dead letters do not count.',
    'gateway',
  )
  const sent = counter('sent_total', 'Attempts to send from the outbox, by outcome.', 'gateway', 'outcome')
  const sendSeconds = seconds('send', 'Duration of successful sends.', 'gateway')
  const sendLatency = seconds(
    'send_latency',
    'Time from the outbox to the end of a successful send.',
    'gateway',
  )
  const pushed = tally('pushed_total', 'Attempts to push an event, by outcome.', 'subscription', 'outcome')
  const pushSeconds = fastSeconds('push', 'Duration of successful pushes.', 'subscription')

  return {
    accepted(gateway: string, fresh: number, repeated: number) {
      if (fresh > 0) accepted.add(fresh, gateway)
      if (repeated > 0) duplicates.add(repeated, gateway)
    },
    refused: (gateway: string, reason: string) => refused.inc({ gateway, reason }),
    dispatch: {
      dispatched(route: string, outcome: string, took: number) {
        dispatched.add(1, route, outcome)
        skillSeconds.observe(route, took)
      },
      unrouted: (count: number) => dispatched.add(count, '', 'unrouted'),
      latency: latency.observe,
    },
    taken: (gateway: string) => taken.inc({ gateway }),
    pushed(subscription: string, outcome: string, took?: number) {
      pushed.add(1, subscription, outcome)
      if (took !== undefined) pushSeconds.observe(subscription, took)
    },
    sent(gateway: string, outcome: string, took?: { attempt: number; total: number }) {
      sent.inc({ gateway, outcome })
      if (!took) return
      sendSeconds.observe({ gateway }, took.attempt)
      sendLatency.observe({ gateway }, took.total)
    },
    counts: createCounts({
      accepted: accepted.counter,
      dispatched: dispatched.counter,
      sent,
      refused,
      latency: latency.histogram,
    }),
  }
}

/**
 * The totals since the start, for charts. `failed`: failed attempts, both those that are tried
 * again and those that made the message a dead letter (`dead`).
 */
function createCounts(metrics: {
  accepted: Counter
  dispatched: Counter
  sent: Counter
  refused: Counter
  latency: Histogram
}) {
  const sum = async (counter: Counter, outcome?: string) =>
    (await counter.get()).values
      .filter(({ labels }) => outcome === undefined || labels.outcome === outcome)
      .reduce((total, { value }) => total + value, 0)
  return async (): Promise<Counts> => {
    const { accepted, dispatched, sent, refused, latency } = metrics
    const [dead, retried] = await Promise.all([sum(dispatched, 'dead'), sum(dispatched, 'retry')])
    return {
      accepted: await sum(accepted),
      done: await sum(dispatched, 'done'),
      failed: dead + retried,
      dead,
      unrouted: await sum(dispatched, 'unrouted'),
      sent: await sum(sent, 'sent'),
      refused: await sum(refused),
      latency: await bucketsOf(latency),
    }
  }
}

/** Number of observations up to each bound (`le`, in seconds), summed over all labels. */
async function bucketsOf(histogram: Histogram): Promise<Counts['latency']> {
  const counts = new Map<number, number>()
  for (const { labels, value, metricName } of (await histogram.get()).values) {
    const le = Number(String(labels.le).replace('+Inf', 'Infinity'))
    if (metricName?.endsWith('_bucket')) counts.set(le, (counts.get(le) ?? 0) + value)
  }
  return [...counts].map(([le, count]) => ({ le, count }))
}
