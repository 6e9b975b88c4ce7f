import { after, before, type TestContext } from 'node:test'
import { createStoreBackend } from '../../src/state/documents/store-backend.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { quiet, temporaryDir, toEvent } from './kit.ts'
import { describeLogLimits } from './log-limits.contract.ts'
import { describeManager } from './manager.contract.ts'

describeManager('the embedded store', async (t) => {
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  return () => createStoreBackend({ values: store.kv })
})

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
