import { join } from 'node:path'
import { type Contender, interleave, type Line, type Row, storesWithOneRedis } from '../lib/bench.ts'
import { createProject, fillStore, startDaemon } from '../lib/daemon.ts'
import { ALL_TO_BENCH, BUSY_SKILL } from '../lib/skills.ts'
import { spread } from '../lib/statistics.ts'

/**
 * From the start of the process until it listens, with an empty store and with a million waiting
 * messages.
 */
export const ready: Row = {
  name: 'ready',
  title: 'time to ready with a backlog of 1,000,000 (quick: 50,000)',
  async run(bench) {
    const backlog = bench.quick ? 50_000 : 1_000_000
    const contenders: Contender[] = []
    for (const store of storesWithOneRedis(bench)) {
      for (const count of [0, backlog]) {
        bench.progress(`filling ${store} with ${count.toLocaleString('en')}`)
        const redis = await bench.redis(store, `ready ${count}`)
        const dir = createProject(bench, { routes: ALL_TO_BENCH, skills: { bench: BUSY_SKILL } })
        await fillStore(join(dir, '.trivium'), redis, count)
        contenders.push({
          name: `${store}, ${count}`,
          async measure() {
            const daemon = await startDaemon(dir, redis)
            await daemon.stop()
            return { readyAfter: daemon.readyAfter }
          },
        })
      }
    }
    const rounds = await interleave(bench, contenders)
    return contenders.map(({ name }): Line => {
      const [store = '', count] = name.split(', ')
      const figure = `ready with a backlog of ${Number(count).toLocaleString('en')}`
      const value = spread(rounds(name), 'readyAfter')
      return { row: 'ready', store, figure, unit: 'ms', value, target: { most: 2_000 } }
    })
  },
}
