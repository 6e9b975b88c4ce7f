import { type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { createProject, startDaemon } from '../lib/daemon.ts'
import { CORE, startPeer } from '../lib/peer.ts'
import { skillSource } from '../lib/skills.ts'
import { ratio, spread } from '../lib/statistics.ts'

const BARE = 'bare undici'
const TEXT = 'x'.repeat(1_000)
const ID = '0199e3c4-7d2a-7000-8000-04d2a1b2c3d4'
const TIMESTAMP = 1_764_000_000_000
/** A request with the headers and as many bytes as a push of an event of the skill below. */
const REQUEST = {
  headers: {
    'user-agent': 'Trivium',
    'content-type': 'application/json',
    'webhook-id': ID,
    'webhook-timestamp': String(TIMESTAMP / 1000),
    'webhook-signature': `v1,${'A'.repeat(43)}=`,
  },
  body: JSON.stringify({
    type: 'event',
    source: 'bench',
    data: { conversation: '7', text: TEXT },
    rootContextId: `http-${ID}`,
    id: ID,
    topic: 'bench',
    timestamp: TIMESTAMP,
  }),
}
const BATCH = 500
const BATCHES_PER_SECOND = 16
/** A skill that emits `count` events, a batch at once. */
const EMITTER = skillSource(`async run({ args, manager }) {
    for (let n = 0; n < args.count; n += ${BATCH}) {
      await Promise.all(Array.from({ length: ${BATCH} }, (_, index) =>
        manager.invoke('event-emit', { topic: 'bench', data: { conversation: String(index % 64), text: '${TEXT}' } })))
    }
  }`)

/**
 * How fast a backlog of events of 64 conversations is signed, pushed and durably recorded as
 * delivered, 64 at once on both sides.
 */
export const push: Row = {
  name: 'push',
  title: 'event to signed POST, against bare undici POSTs of the same bytes',
  async run(bench) {
    const count = Math.max(1, Math.round(bench.seconds * BATCHES_PER_SECOND)) * BATCH
    const receiver = await startPeer('push-ends', CORE.load)
    const sender = await startPeer('push-ends', CORE.server)
    bench.defer(receiver.end)
    bench.defer(sender.end)
    const { port } = await receiver.call('listen')
    const measureBare = async () => {
      const received = receiver.call('receive', { count })
      await sender.call('send', { count, port, ...REQUEST })
      return received
    }
    const contenders: Contender[] = [{ name: BARE, measure: measureBare }]
    for (const store of bench.stores) {
      const redis = await bench.redis(store)
      const routes = `subscriptions:
  - { name: bench, topic: bench, url: 'http://127.0.0.1:${port}/', allow-private: true, concurrency: 64, secret: whsec_${'A'.repeat(32)} }
`
      const dir = createProject(bench, { routes, skills: { bench: EMITTER } })
      const daemon = await startDaemon(dir, redis)
      bench.defer(daemon.stop)
      const measure = async () => {
        await daemon.invoke('subscription-pause', { name: 'bench' })
        await daemon.invoke('bench', { count })
        const received = receiver.call('receive', { count })
        await daemon.invoke('subscription-resume', { name: 'bench' })
        return received
      }
      contenders.push({ name: store, measure })
    }
    const rounds = await interleave(bench, contenders)
    return bench.stores.flatMap((store): Line[] => {
      const line = { row: 'push', store }
      const value = ratio(rounds(store), rounds(BARE), 'rate')
      return [
        { ...line, figure: `rate / ${BARE}`, unit: 'x', value, target: { least: 0.7 } },
        { ...line, figure: 'rate', unit: 'events/s', value: spread(rounds(store), 'rate') },
      ]
    })
  },
}
