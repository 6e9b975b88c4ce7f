import { z } from 'zod'
import { type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { createProject, startDaemon } from '../lib/daemon.ts'
import { CORE, cpuMicros, type Figures, startPeer } from '../lib/peer.ts'
import { NO_OP_SKILL, skillSource } from '../lib/skills.ts'
import { spread } from '../lib/statistics.ts'

/** Messages a second. */
const RATE = 1_000
/** Messages at the start that do not count: half a second. */
const WARM_UP = RATE / 2
const GROUPS = [1, 50]

/** Minimum duration (s) of a round. */
const MIN_SECONDS = 1.5

/**
 * The time from when a webhook is due until a caller of `event-wait` has its event: 1,000 messages
 * a second, each read by 1 or 50 consumer groups, and dispatched to a skill that does nothing.
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
      const dir = createProject(bench, {
        routes: 'routes: [{ name: all, skill: bench, concurrency: 64 }]\n',
        skills,
      })
      const daemon = await startDaemon(dir, redis)
      bench.defer(daemon.stop)
      for (const groups of GROUPS) {
        contenders.push({
          name: nameOf(store, groups),
          async measure(seconds) {
            const duration = Math.max(MIN_SECONDS, seconds)
            await daemon.invoke('bench-wait', { groups, subscribe: true })
            const before = { cpu: cpuMicros(daemon.pid), at: performance.now() }
            const waiting = daemon.invoke('bench-wait', { groups, total: RATE * duration * groups })
            const sent = await load.call('run', { port: daemon.port, rate: RATE, seconds: duration })
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
  const readers = groups === 1 ? '1 group' : `${groups} groups`
  return [
    { ...line, figure: `p50, ${readers}`, value: spread(mine, 'p50') },
    {
      ...line,
      figure: `p99, ${readers}`,
      value: spread(mine, 'p99'),
      target: { most: groups === 1 ? 5 : 15 },
    },
    { ...line, figure: `processor, ${readers}`, unit: '% of a core', value: spread(mine, 'busy') },
  ]
}

/** A skill that waits until every group has read every event, and returns the latencies. */
const WAITERS = skillSource(
  `async run({ args, manager }) {
    // Outside V8's heap, so that collecting this list does not affect the figures.
    const latencies = new Float64Array(args.total ?? 0)
    let count = 0
    const topic = 'gateway-message'
    const queues = Array.from({ length: args.groups }, (_, i) => 'bench-' + args.groups + '-' + i)
    if (args.subscribe) {
      for (const queue of queues) await manager.invoke('event-subscribe', { topic, queue })
      return
    }
    let received = 0
    await Promise.all(queues.map(async (queue) => {
      for (let ofQueue = 0; ofQueue < args.total / args.groups; ) {
        const events = await manager.invoke('event-wait', { topic, queue, timeout: 15000 })
        if (events.length === 0) throw new Error('events are missing: ' + ofQueue + ' of ' + args.total / args.groups + ' arrived')
        const now = process.hrtime.bigint()
        ofQueue += events.length
        for (const { data } of events) {
          if (++received > ${WARM_UP} * args.groups) latencies[count++] = Number(now - BigInt(data.body.sentAt)) / 1e6
        }
      }
    }))
    for (const queue of queues) await manager.invoke('event-unsubscribe', { topic, queue })
    const sorted = latencies.subarray(0, count).sort()
    const at = (share) => sorted[Math.floor(count * share)]
    return { p50: at(0.5), p99: at(0.99), events: received }
  }`,
  '',
  'bench-wait',
)
