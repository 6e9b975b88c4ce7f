import { z } from 'zod'
import { type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { createSite, startDaemon } from '../lib/daemon.ts'
import { CORE, cpuMicros, type Figures, startPeer } from '../lib/peer.ts'
import { NO_OP_SKILL, skillSource } from '../lib/skills.ts'
import { spread } from '../lib/statistics.ts'

/** Messages a second. */
const RATE = 1_000
/** Messages at the start that do not count: half a second. */
const WARM_UP = RATE / 2
const GROUPS = [1, 50]

/**
 * The time from when a webhook is due to when a caller of `event-wait` has its event: 1,000 messages a second, each read by
 * 1 or 50 consumer groups, and dispatched to a skill that does nothing.
 */
export const latency: Row = {
  name: 'latency',
  title: 'publish to event-wait at 1,000 messages a second, 1 and 50 groups',
  async run(bench) {
    const load = await startPeer('paced-load', CORE.load)
    bench.defer(load.end)
    const contenders: Contender[] = []
    for (const store of bench.stores) {
      const redis = await bench.redis(store)
      const skills = { bench: NO_OP_SKILL, 'bench-wait': WAITERS }
      const dir = createSite(bench, {
        routes: 'routes: [{ name: all, skill: bench, concurrency: 64 }]\n',
        skills,
      })
      const daemon = await startDaemon(dir, redis)
      bench.defer(daemon.stop)
      for (const groups of GROUPS) {
        contenders.push({
          name: nameOf(store, groups),
          async measure(seconds) {
            const span = Math.max(1.5, seconds)
            await daemon.invoke('bench-wait', { groups, subscribe: true })
            const before = { cpu: cpuMicros(daemon.pid), at: performance.now() }
            const waiting = daemon.invoke('bench-wait', { groups, total: RATE * span * groups })
            const sent = await load.call('run', { port: daemon.port, rate: RATE, seconds: span })
            const waited = figuresSchema.parse(await waiting)
            const cpuMs = (cpuMicros(daemon.pid) - before.cpu) / 1000
            const busy = (100 * cpuMs) / (performance.now() - before.at)
            return { ...sent, ...waited, busy }
          },
        })
      }
    }
    const rounds = await interleave(bench, contenders)
    return bench.stores.flatMap((store) =>
      GROUPS.flatMap((groups) => lines(store, groups, rounds(nameOf(store, groups)))),
    )
  },
}

const figuresSchema = z.record(z.string(), z.number())

function nameOf(store: string, groups: number): string {
  return `${store}, ${groups} ${groups === 1 ? 'group' : 'groups'}`
}

function lines(store: string, groups: number, mine: Figures[]): Line[] {
  const line = { row: 'latency', store, unit: 'ms' }
  const what = groups === 1 ? '1 group' : `${groups} groups`
  return [
    { ...line, figure: `p50, ${what}`, value: spread(mine, 'p50') },
    { ...line, figure: `p99, ${what}`, value: spread(mine, 'p99'), reach: { most: groups === 1 ? 5 : 15 } },
    { ...line, figure: `processor, ${what}`, unit: '% of a core', value: spread(mine, 'busy') },
  ]
}

/** Waits until every group has had every event. */
const WAITERS = skillSource(
  `async run({ args, manager }) {
    // Outside V8's heap, so that the figures are not those of collecting this list.
    const latencies = new Float64Array(args.total ?? 0)
    let count = 0
    const topic = 'gateway-message'
    const queues = Array.from({ length: args.groups }, (_, i) => 'bench-' + args.groups + '-' + i)
    if (args.subscribe) {
      for (const queue of queues) await manager.invoke('event-subscribe', { topic, queue })
      return
    }
    let seen = 0
    await Promise.all(queues.map(async (queue) => {
      for (let mine = 0; mine < args.total / args.groups; ) {
        const events = await manager.invoke('event-wait', { topic, queue, timeout: 15000 })
        if (events.length === 0) throw new Error('an event did not come: ' + mine + ' of ' + args.total / args.groups)
        const now = process.hrtime.bigint()
        mine += events.length
        for (const { data } of events) {
          if (++seen > ${WARM_UP} * args.groups) latencies[count++] = Number(now - BigInt(data.body.sentAt)) / 1e6
        }
      }
    }))
    for (const queue of queues) await manager.invoke('event-unsubscribe', { topic, queue })
    const sorted = latencies.subarray(0, count).sort()
    const at = (share) => sorted[Math.floor(count * share)]
    return { p50: at(0.5), p99: at(0.99), events: seen }
  }`,
  '',
  'bench-wait',
)
