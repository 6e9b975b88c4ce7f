import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { silent } from '../../../src/core/log.ts'
import { watchFailovers } from '../../../src/stores/redis/failovers.ts'
import { freePorts } from '../../fixtures/redis-server.ts'
import { startSentinel } from '../../fixtures/redis-topology.ts'
import { until } from '../../fixtures/until.ts'
import { cleanup } from '../../runtime/support/cleanup.ts'
import { redisOf } from './kit.ts'

test('notices a failover of a Sentinel that was down for a long time when the store was opened', async (t) => {
  const { server } = await redisOf(t)
  await redisOf(t, ['--replicaof', '127.0.0.1', `${server.port}`])
  const [port = 0] = await freePorts(1)
  // More than the 20 attempts after which ioredis by default gives up commands.
  const refusals = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1')
  const sentinels = [{ host: '127.0.0.1', port }]
  const client = new Redis({ sentinels, name: 'main', lazyConnect: true, retryStrategy: () => 1 })
  const failovers = watchFailovers(client, silent)
  cleanup(t, failovers.close)
  for (let attempts = 0; attempts < 30; attempts++) await once(refusals, 'connection')
  refusals.close()
  const sentinel = startSentinel({ port, master: server.port, quorum: 1 })
  cleanup(t, sentinel.stop)
  const admin = new Redis(port, '127.0.0.1').on('error', () => {})
  cleanup(t, () => admin.disconnect())
  // Until it knows the replica and a promotion begins. The client does not connect to a master, so
  // the failover does not end.
  await until(async () => {
    await admin.call('SENTINEL', 'FAILOVER', 'main').catch(() => {})
    return failovers.isFailingOver()
  }, 'the failover')
})

test('says which Sentinel does not announce its failovers, because its ACL forbids it', async (t) => {
  const { server } = await redisOf(t)
  const [port = 0] = await freePorts(1)
  const sentinel = startSentinel({ port, master: server.port, quorum: 1 })
  cleanup(t, sentinel.stop)
  const admin = new Redis(port, '127.0.0.1').on('error', () => {})
  cleanup(t, () => admin.disconnect())
  await until(
    () => admin.call('ACL', 'SETUSER', 'default', '-subscribe').then(Boolean, () => false),
    'the ACL',
  )
  const client = new Redis({ sentinels: [{ host: '127.0.0.1', port }], name: 'main', lazyConnect: true })
  const warned: unknown[] = []
  const failovers = watchFailovers(client, {
    warn: (fields: unknown, text?: unknown) => warned.push([fields, text]),
  })
  cleanup(t, failovers.close)
  await until(() => warned.length > 0, 'the warning')
  assert.match(
    JSON.stringify(warned),
    new RegExp(`127\\.0\\.0\\.1:${port}.*NOPERM.*does not announce its failovers`),
  )
})
