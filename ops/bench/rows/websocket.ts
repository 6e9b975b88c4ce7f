import { type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { createSite, removeSite, startDaemon } from '../lib/daemon.ts'
import { CORE, cpuMicros, startPeer } from '../lib/peer.ts'
import { ALL_TO_BENCH, BUSY_SKILL } from '../lib/skills.ts'
import { ratio, spread } from '../lib/statistics.ts'

const BARE = 'bare ws echo'

/** Messages of 1 KB over WebSocket, acknowledged once they are durable, against an echo that keeps nothing. */
export const websocket: Row = {
  name: 'websocket',
  title: 'WebSocket message of 1 KB accepted, against a bare ws echo',
  async run(bench) {
    const load = await startPeer('ws-load', CORE.load)
    bench.defer(load.end)
    const contender = (name: string, pid: number, port: number, greeting: boolean): Contender => ({
      name,
      async measure(seconds) {
        const before = cpuMicros(pid)
        const figures = await load.call('run', { port, greeting, seconds })
        return { ...figures, cpu: (cpuMicros(pid) - before) / (figures.done ?? 1) }
      },
    })
    const echo = await startPeer('ws-echo', CORE.server)
    bench.defer(echo.end)
    const { port = 0 } = await echo.call('listen')
    const contenders = [contender(BARE, echo.pid, port, false)]
    for (const store of bench.stores) {
      const redis = await bench.redis(store)
      const dir = createSite({ routes: ALL_TO_BENCH, skills: { bench: BUSY_SKILL } })
      bench.defer(() => removeSite(dir))
      const daemon = await startDaemon(dir, redis)
      bench.defer(daemon.stop)
      contenders.push(contender(store, daemon.pid, daemon.port, true))
    }
    const rounds = await interleave(bench, contenders)
    const bare = rounds(BARE)
    return bench.stores.flatMap((store): Line[] => {
      const mine = rounds(store)
      const line = { row: 'websocket', store }
      return [
        { ...line, figure: 'rate / bare ws echo', unit: 'x', value: ratio(mine, bare, 'rate') },
        { ...line, figure: 'p99 / bare p99', unit: 'x', value: ratio(mine, bare, 'p99') },
        { ...line, figure: 'rate', unit: 'msg/s', value: spread(mine, 'rate') },
        { ...line, figure: 'processor time a message', unit: 'µs', value: spread(mine, 'cpu') },
      ]
    })
  },
}
