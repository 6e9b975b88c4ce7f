import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { tagOf } from '../../src/stores/redis/roots.ts'
import { startRedisCluster } from '../fixtures/redis-server.ts'
import { moveSlot, startSentinels } from '../fixtures/redis-topology.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../stores/redis/kit.ts'
import { MAX_LOST_IN_FAIL_OVER, underLoad } from '../stores/redis/load.ts'

/**
 * Two stores on servers that are stopped after them; otherwise ioredis would keep looking for
 * Sentinels.
 */
async function openTwo(t: TestContext, servers: { url: string; stop(): Promise<void> }, replicas: number) {
  const opened = await Promise.all([1, 2].map(() => openStore(servers.url, { replicas })))
  t.after(async () => {
    await Promise.all(opened.map((store) => store.close()))
    await servers.stop()
  })
  return opened
}

for (const replicas of [0, 1]) {
  describe(`Sentinel, acknowledged by ${replicas} replicas`, { timeout: 600_000 }, () => {
    const setUp = async (t: TestContext) => {
      const sentinels = await startSentinels()
      const open = await openTwo(t, sentinels, replicas)
      const failMaster = async (fail: 'freeze' | 'kill', recover: 'resume' | 'start') => {
        const port = await until(() => sentinels.master(), 'a master')
        const master = sentinels.nodes.find((node) => node.port === port) ?? assert.fail()
        await master[fail]()
        await until(async () => ![undefined, port].includes(await sentinels.master()), 'a new master')
        await pause(2_000)
        await master[recover]()
        await pause(3_000)
      }
      return { sentinels, open, failMaster }
    }
    test('loses almost nothing in planned fail-overs', async (t) => {
      const { sentinels, open } = await setUp(t)
      for (let round = 0; round < 3; round++) {
        const { lost } = await underLoad(open, sentinels.failOver)
        assert.ok(lost < (replicas > 0 ? 1 : MAX_LOST_IN_FAIL_OVER), `${lost} messages lost`)
      }
    })
    test('loses nothing if the master hangs', async (t) => {
      const { open, failMaster } = await setUp(t)
      assert.equal((await underLoad(open, () => failMaster('freeze', 'resume'))).lost, 0)
    })
    test('with replicas, loses nothing if the master dies', async (t) => {
      const { open, failMaster } = await setUp(t)
      const { lost } = await underLoad(open, () => failMaster('kill', 'start'))
      if (replicas > 0) assert.equal(lost, 0)
    })
  })

  describe(`Cluster, acknowledged by ${replicas} replicas`, { timeout: 600_000 }, () => {
    test('loses and repeats nothing while slots of the store move', async (t) => {
      const cluster = await startRedisCluster(1)
      const open = await openTwo(t, cluster, replicas)
      for (let round = 0; round < 4; round++) {
        const move = () => moveSlot(cluster.nodes, `{${tagOf('trivium', round, 16)}}:`, round * 10)
        const { lost, twice } = await underLoad(open, move)
        assert.equal(lost + twice, 0)
      }
    })
  })
}
