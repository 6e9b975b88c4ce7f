import { after, before, type TestContext } from 'node:test'
import type { Event } from '../../src/core/event.ts'
import type { Log } from '../../src/core/log.ts'
import type { Message } from '../../src/core/message.ts'
import { createSharedBackend } from '../../src/state/shared-backend.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { describeManager } from './manager.contract.ts'
import { temporaryDir } from './temporary.ts'

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

const toEvent = (message: Message): Event => ({
  id: message.id,
  topic: 'gateway-message',
  type: message.transport,
  source: message.gateway,
  data: {},
  timestamp: message.receivedAt,
})

describeManager('the embedded store', async (t) => {
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: quiet, toEvent })
  t.after(() => store.close())
  return () =>
    createSharedBackend({ kv: store.kv, onSignal: (name, listener) => store.onSignal(name, listener) })
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
  return () =>
    createSharedBackend({ kv: store.kv, onSignal: (name, listener) => store.onSignal(name, listener) })
})
