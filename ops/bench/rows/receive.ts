import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Contender, interleave, type Line, type Row } from '../lib/bench.ts'
import { removeSite } from '../lib/daemon.ts'
import { CORE, startPeer } from '../lib/peer.ts'
import { ratio, spread } from '../lib/statistics.ts'

/** Take with a lease, then acknowledge, 32 takers in one process; against the same on a bare stream of Redis. */
export const receive: Row = {
  name: 'receive',
  title: 'take + ack, against raw XREADGROUP + XACK',
  async run(bench) {
    const contenders: Contender[] = []
    const count = Math.round(bench.seconds * 5_000)
    for (const store of bench.stores) {
      const redis = await bench.redis(store)
      const dir = mkdtempSync(join(tmpdir(), 'trivium-bench-'))
      bench.defer(() => removeSite(dir))
      const client = await startPeer('store-client', CORE.server)
      bench.defer(client.end)
      await client.call('open', { dir, redis })
      contenders.push({
        name: store,
        async measure() {
          await client.call('fill', { count })
          return client.call('takeAndAck', { count })
        },
      })
      if (redis === undefined) continue
      const raw = await startPeer('raw-stream', CORE.server, { env: { REDIS_URL: redis } })
      bench.defer(raw.end)
      contenders.push({
        name: `raw, ${store}`,
        async measure() {
          await raw.call('fill', { count })
          return raw.call('takeAndAck', { count })
        },
      })
    }
    const rounds = await interleave(bench, contenders)
    return bench.stores.flatMap((store): Line[] => {
      const line = { row: 'receive', store }
      const redis = store === 'embedded' ? bench.stores.find((one) => one !== 'embedded') : store
      const rate: Line = { ...line, figure: 'rate', unit: 'msg/s', value: spread(rounds(store), 'rate') }
      if (redis === undefined) return [rate]
      const value = ratio(rounds(store), rounds(`raw, ${redis}`), 'rate')
      return [{ ...line, figure: `rate / raw stream, ${redis}`, unit: 'x', value }, rate]
    })
  },
}
