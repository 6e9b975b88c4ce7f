import { after, before, type TestContext } from 'node:test'
import { createStoreBackend } from '../../src/state/documents/store-backend.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { toEvent } from './kit.ts'
import { describeLogLimits } from './log-limits.contract.ts'
import { describeManager } from './manager.contract.ts'

let server: RedisServer
let serial = 0

before(async () => {
  server = await startRedisServer()
})
after(() => server.stop())

describeManager('Redis', async (t: TestContext) => {
  const store = await openStore(server.url, { prefix: `documents-${serial++}`, toEvent })
  t.after(() => store.close())
  return () => createStoreBackend({ values: store.kv })
})

describeLogLimits('Redis', async (t, limits) => {
  const store = await openStore(server.url, { prefix: `documents-${serial++}`, toEvent })
  t.after(() => store.close())
  return () =>
    createStoreBackend({
      values: store.kv,
      limits,
    })
})
