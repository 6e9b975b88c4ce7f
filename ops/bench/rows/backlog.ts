import {
  type Bench,
  type Contender,
  interleave,
  type Line,
  type Row,
  type StoreName,
  storesWithOneRedis,
} from '../lib/bench.ts'
import { createProject } from '../lib/daemon.ts'
import { CORE, startPeer } from '../lib/peer.ts'
import { ratio, spread } from '../lib/statistics.ts'

/** Messages per measurement, accepted 64 at a time, and messages before the first one. */
const COUNT = 1_000
const BATCH = 64
const WARM_UP = 10_000

/**
 * The cost of accepting a message, and of taking and acknowledging it, by the number of waiting
 * messages.
 */
export const backlog: Row = {
  name: 'backlog',
  title: 'cost per message at a backlog of 10³ to 10⁶ (quick: 10⁵)',
  async run(bench) {
    const sizes = bench.quick ? [1e3, 1e4, 1e5] : [1e3, 1e4, 1e5, 1e6]
    const stores = storesWithOneRedis(bench)
    const contenders: Contender[] = []
    for (const store of stores) {
      for (const size of sizes) contenders.push(await filled(bench, store, size))
    }
    const rounds = await interleave(bench, contenders)
    return stores.flatMap((store) => {
      const smallest = rounds(nameOf(store, sizes[0] ?? 0))
      return sizes.flatMap((size): Line[] => {
        const mine = rounds(nameOf(store, size))
        const line = { row: 'backlog', store }
        const at = `at ${size.toLocaleString('en')}`
        if (size === sizes[0]) {
          return [
            { ...line, figure: `accept, ${at}`, unit: 'µs', value: spread(mine, 'accept') },
            { ...line, figure: `take + ack, ${at}`, unit: 'µs', value: spread(mine, 'take') },
          ]
        }
        const flat = { unit: 'x', target: { most: 1.2 } }
        const accept = ratio(mine, smallest, 'accept')
        const take = ratio(mine, smallest, 'take')
        return [
          { ...line, ...flat, figure: `accept, ${at} / at 1,000`, value: accept },
          { ...line, ...flat, figure: `take + ack, ${at} / at 1,000`, value: take },
        ]
      })
    })
  },
}

async function filled(bench: Bench, store: StoreName, size: number): Promise<Contender> {
  bench.progress(`filling ${nameOf(store, size)}`)
  const redis = await bench.redis(store, `backlog ${size}`)
  const dir = createProject(bench, { routes: '' })
  const client = await startPeer('store-client', CORE.server)
  bench.defer(client.end)
  await client.call('open', { dir, redis })
  // Before the measurement, all clients do the same work, so that V8 has optimised their code
  // equally.
  await client.call('fill', { count: WARM_UP })
  await client.call('takeAndAck', { count: WARM_UP })
  await client.call('fill', { count: size })
  return {
    name: nameOf(store, size),
    // Takes as many messages as it accepts, so that the size of the backlog does not change.
    async measure() {
      const { micros: accept = 0 } = await client.call('fill', { count: COUNT, batch: BATCH })
      const { micros: take = 0 } = await client.call('takeAndAck', { count: COUNT })
      return { accept, take }
    },
  }
}

function nameOf(store: StoreName, size: number): string {
  return `${store}, ${size.toLocaleString('en')} waiting`
}
