import { join } from 'node:path'
import { interleave, type Line, type Row } from '../lib/bench.ts'
import { createProject, fillStore, startDaemon } from '../lib/daemon.ts'
import { CORE, startPeer } from '../lib/peer.ts'
import { ratio, spread } from '../lib/statistics.ts'

const BARE = 'bare BullMQ add + worker'
const MESSAGES_PER_SECOND = 3_000
const ROUTES = 'routes: [{ name: all, queue: bench, timeout: 20d, concurrency: 64 }]\n'

/**
 * The rate at which a backlog passes through a BullMQ worker and back, compared with plain `add` of
 * as many jobs.
 */
export const queue: Row = {
  name: 'queue',
  title: 'message to BullMQ job to reply, against a bare BullMQ add and worker',
  async run(bench) {
    const count = Math.round(bench.seconds * MESSAGES_PER_SECOND)
    const [store] = bench.stores.filter((name) => name !== 'embedded')
    if (store === undefined) return []
    const redis = (await bench.redis(store)) ?? ''
    const env = { env: { REDIS_URL: redis } }
    const worker = await startPeer('bullmq-worker', CORE.load, env)
    const adder = await startPeer('bullmq-worker', CORE.server, env)
    bench.defer(worker.end)
    bench.defer(adder.end)
    const dir = createProject(bench, { routes: ROUTES, skills: {} })
    const daemon = await startDaemon(dir, redis)
    bench.defer(daemon.stop)
    const mine = {
      name: store,
      // Until a worker is free, messages stay in the journal.
      async measure() {
        await fillStore(join(dir, '.trivium'), redis, count)
        return worker.call('work', { count, queue: 'bench' })
      },
    }
    const bare = {
      name: BARE,
      async measure() {
        const worked = worker.call('work', { count, queue: 'bare' })
        await adder.call('add', { count, queue: 'bare' })
        return worked
      },
    }
    const rounds = await interleave(bench, [mine, bare])
    const value = ratio(rounds(store), rounds(BARE), 'rate')
    const line = { row: 'queue', store }
    const rate: Line = { ...line, figure: 'rate', unit: 'msg/s', value: spread(rounds(store), 'rate') }
    return [rate, { ...line, figure: `rate / ${BARE}`, unit: 'x', value, target: { least: 0.8 } }]
  },
}
