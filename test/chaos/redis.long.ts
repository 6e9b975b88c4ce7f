import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { tagOf } from '../../src/stores/redis/roots.ts'
import { startRedisCluster } from '../fixtures/redis-server.ts'
import { moveSlot, startSentinels } from '../fixtures/redis-topology.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../stores/redis/kit.ts'
import { MAX_LOST_IN_FAIL_OVER, underLoad } from '../stores/redis/load.ts'

/** Two stores on servers, which end after them: ioredis would go on to look for Sentinels that are gone. */
async function stores(t: TestContext, servers: { url: string; stop(): Promise<void> }, replicas: number) {
  const opened = await Promise.all([1, 2].map(() => openStore(servers.url, { replicas })))
  t.after(async () => {
    await Promise.all(opened.map((store) => store.close()))
    await servers.stop()
  })
  return opened
}

for (const replicas of [0, 1]) {
  describe(`Sentinel, acknowledged by ${replicas} replicas`, { timeout: 600_000 }, () => {
    const world = async (t: TestContext) => {
      const sentinels = await startSentinels()
      const open = await stores(t, sentinels, replicas)
      const fails = async (fail: 'freeze' | 'kill', comeBack: 'resume' | 'start') => {
        const port = await until(() => sentinels.master(), 'a master', 30_000)
        const master = sentinels.nodes.find((node) => node.port === port) ?? assert.fail()
        await master[fail]()
        await until(async () => ![undefined, port].includes(await sentinels.master()), 'a new one', 60_000)
        await pause(2_000)
        await master[comeBack]()
        await pause(3_000)
      }
      return { sentinels, open, fails }
    }
    test('a planned fail-over', async (t) => {
      const { sentinels, open } = await world(t)
      for (let round = 0; round < 3; round++) {
        const { lost } = await underLoad(open, sentinels.failOver)
        assert.ok(lost < (replicas > 0 ? 1 : MAX_LOST_IN_FAIL_OVER), `${lost} are lost`)
      }
    })
    test('a master that hangs', async (t) => {
      const { open, fails } = await world(t)
      assert.equal((await underLoad(open, () => fails('freeze', 'resume'))).lost, 0)
    })
    test('a master that dies', async (t) => {
      const { open, fails } = await world(t)
      const { lost } = await underLoad(open, () => fails('kill', 'start'))
      if (replicas > 0) assert.equal(lost, 0)
    })
  })

  describe(`Cluster, acknowledged by ${replicas} replicas`, { timeout: 600_000 }, () => {
    test('moving slots of the store, again and again', async (t) => {
      const cluster = await startRedisCluster(1)
      const open = await stores(t, cluster, replicas)
      for (let round = 0; round < 4; round++) {
        const move = () => moveSlot(cluster.nodes, `{${tagOf('trivium', round, 16)}}:`, round * 10)
        const { lost, twice } = await underLoad(open, move)
        assert.equal(lost + twice, 0)
      }
    })
  })
}
