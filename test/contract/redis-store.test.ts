import { after, before } from 'node:test'
import { startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { storeContract } from './store.contract.ts'

for (const [name, start] of [
  ['redis', startRedisServer],
  ['redis cluster', startRedisCluster],
] as const) {
  let server: Awaited<ReturnType<typeof start>>
  let serial = 0
  before(async () => {
    server = await start()
  })
  after(() => server.stop())

  storeContract(name, async () => {
    const prefix = `case-${serial++}`
    return {
      open: ({ now, toEvent }) => openStore(server.url, { prefix, now, toEvent }),
      shared: true,
      dispose: async () => {},
    }
  })
}
