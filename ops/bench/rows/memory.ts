import { type Bench, type Line, type Row, type StoreName, storesWithOneRedis } from '../lib/bench.ts'
import { createProject, startDaemon } from '../lib/daemon.ts'
import { CORE, residentMegabytes, startPeer } from '../lib/peer.ts'
import { ALL_TO_BENCH, NO_OP_SKILL } from '../lib/skills.ts'
import { spreadOf } from '../lib/statistics.ts'

/** How often the memory is measured. */
const PARTS = 10
/** Maximum duration (s) of one part. */
const PART_SECONDS = 600

/**
 * Resident memory of the daemon while a million messages pass through it, each dispatched to a
 * no-op skill.
 */
export const memory: Row = {
  name: 'memory',
  title: 'resident memory after 1,000,000 messages (quick: 50,000)',
  async run(bench) {
    const lines: Line[] = []
    for (const store of storesWithOneRedis(bench)) {
      const resident = await measure(bench, store, bench.quick ? 50_000 : 1_000_000)
      const line = { row: 'memory', store }
      const [last = 0, early = 0] = [resident.at(-1), resident[2]]
      const most = Math.max(...resident)
      const target = { most: store === 'embedded' ? 200 : 180 }
      lines.push(
        { ...line, figure: 'resident at most', unit: 'MB', value: spreadOf([most]), target },
        { ...line, figure: 'at the end / after three tenths', unit: 'x', value: spreadOf([last / early]) },
      )
    }
    return lines
  },
}

async function measure(bench: Bench, store: StoreName, total: number): Promise<number[]> {
  const redis = await bench.redis(store)
  const dir = createProject(bench, { routes: ALL_TO_BENCH, skills: { bench: NO_OP_SKILL } })
  const load = await startPeer('http-load', CORE.load)
  bench.defer(load.end)
  // The first start with a skill strips its types, which takes 10 MB until the end of the process.
  // As in the row `rest`, it does not count.
  const first = await startDaemon(dir, redis)
  await first.stop()
  const daemon = await startDaemon(dir, redis)
  bench.defer(daemon.stop)
  const resident: number[] = []
  for (let part = 1; part <= PARTS; part++) {
    bench.progress(`${store}: ${part}/${PARTS} of ${total.toLocaleString('en')} messages`)
    const { port } = daemon
    await load.call('run', { port, path: '/hooks/github', seconds: PART_SECONDS, count: total / PARTS })
    resident.push(residentMegabytes(daemon.pid))
  }
  return resident
}
