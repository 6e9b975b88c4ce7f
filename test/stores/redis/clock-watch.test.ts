import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { saying, silent } from '../../contract/store/kit.ts'
import { startRedisCluster } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { cleanup } from '../../runtime/support/cleanup.ts'
import { openStore } from './kit.ts'

const HOUR = 3_600_000

test('a clock that was set back is noticed while another master hangs', async (t) => {
  const cluster = await startRedisCluster()
  cleanup(t, () => cluster.stop())
  const clients = cluster.nodes.map(({ port }) => new Redis(port, '127.0.0.1').on('error', () => {}))
  cleanup(t, () => {
    for (const client of clients) client.disconnect()
  })
  for (const client of clients) await client.config('SET', 'cluster-require-full-coverage', 'no')
  /** How far (ms) the clock went back, by each warning. */
  const setBackBy: unknown[] = []
  const log = { ...silent, warn: (fields: object) => setBackBy.push(Object(fields).back) }
  const store = await openStore(cluster.url, { log, commandTimeout: 500 })
  cleanup(t, () => store.close())
  // Enough conversations for each shard to have some.
  for (let n = 0; n < 40; n++) await store.journal.accept([saying('x', { conversation: `c${n}` })])
  const [hanging, lastClient] = [cluster.nodes[0], clients.at(-1)]
  assert.ok(hanging && lastClient)
  hanging.freeze()
  cleanup(t, () => hanging.resume())
  // As if the clock had been an hour ahead until now.
  const latest = Date.now() + HOUR
  for (const key of await lastClient.keys('*:meta')) await lastClient.hset(key, 'latest', latest)
  await until(() => setBackBy.some((ms) => Number(ms) > HOUR - 60_000), 'the warning about the clock')
})
