import { setTimeout as pause } from 'node:timers/promises'
import { type Contender, interleave, type Line, type Row, storesWithOneRedis } from '../lib/bench.ts'
import { createProject, startDaemon } from '../lib/daemon.ts'
import { residentMegabytes } from '../lib/peer.ts'
import { spread } from '../lib/statistics.ts'

/**
 * Time (ms) after the start until the memory is measured: the start's garbage is collected then.
 */
const SETTLED_AFTER = 8_000

/**
 * Resident memory of a daemon that has started and does nothing. The first start of a version
 * compiles its code, and does not count.
 */
export const rest: Row = {
  name: 'rest',
  title: 'resident memory of a daemon at rest',
  async run(bench) {
    const contenders: Contender[] = []
    for (const store of storesWithOneRedis(bench)) {
      const redis = await bench.redis(store)
      const dir = createProject(bench, { routes: 'routes: []\n' })
      contenders.push({
        name: store,
        async measure() {
          const daemon = await startDaemon(dir, redis)
          await pause(SETTLED_AFTER)
          const resident = residentMegabytes(daemon.pid)
          await daemon.stop()
          return { resident }
        },
      })
    }
    const rounds = await interleave(bench, contenders)
    return contenders.map(({ name: store }): Line => {
      const value = spread(rounds(store), 'resident')
      return { row: 'rest', store, figure: 'resident at rest', unit: 'MB', value, target: { most: 110 } }
    })
  },
}
