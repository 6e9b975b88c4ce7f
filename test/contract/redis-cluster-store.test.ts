import { after, before } from 'node:test'
import { startRedisCluster } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { storeContract } from './store.contract.ts'

let cluster: Awaited<ReturnType<typeof startRedisCluster>>
let serial = 0

before(async () => {
  cluster = await startRedisCluster()
})
after(() => cluster.stop())

storeContract('redis cluster', async () => {
  const prefix = `case-${serial++}`
  return {
    open: ({ now, toEvent }) => openStore(cluster.url, { prefix, now, toEvent }),
    shared: true,
    dispose: async () => {},
  }
})
