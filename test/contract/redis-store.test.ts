import { after, before } from 'node:test'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { storeContract } from './store.contract.ts'

let server: RedisServer
let serial = 0

before(async () => {
  server = await startRedisServer()
})
after(() => server.stop())

storeContract('redis', async () => {
  const prefix = `case-${serial++}`
  return {
    open: ({ now, toEvent }) => openStore(server.url, { prefix, now, toEvent }),
    shared: true,
    dispose: async () => {},
  }
})
