import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { startRedisCluster } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { openStore } from './kit.ts'

describe('three daemons on one cluster', () => {
  let cluster: Awaited<ReturnType<typeof startRedisCluster>>
  let stores: Store[]
  let store: Store

  before(async () => {
    cluster = await startRedisCluster()
    stores = await Promise.all([1, 2, 3].map(() => openStore(cluster.url)))
    const [first] = stores
    assert.ok(first)
    store = first
  })
  after(async () => {
    for (const each of stores) await each.close()
    await cluster.stop()
  })

  test('pumps that race make each job once, and lanes keep their order across daemons', async () => {
    const conversations = Array.from({ length: 5 }, (_, n) => `c${n}`)
    let isAccepting = true
    const accept = async () => {
      for (let n = 0; n < 40; n++) {
        await stores[n % 3]?.journal.accept(
          conversations.map((conversation) => saying(`${conversation} ${n}`, { conversation })),
        )
      }
      isAccepting = false
    }
    const pump = async (each: Store) => {
      for (;;) {
        const { cursor, messages } = await each.journal.unpumped(16)
        const last = messages.at(-1)
        if (!last && !isAccepting) return
        if (!last) continue
        const jobs = messages.map(({ id, conversation: lane }) => ({
          id,
          lane,
          group: 'rest',
          messageId: id,
        }))
        await each.journal.pumped(cursor, last.id, jobs)
      }
    }
    await Promise.all([accept(), ...stores.map(pump)])
    const ran: string[] = []
    const work = async (each: Store) => {
      for (;;) {
        const request = { max: 3, lease: 60_000 }
        const { jobs } = await each.jobs.claim('dispatch', request)
        ran.push(...jobs.map(({ message }) => message?.text ?? ''))
        const outcomes = jobs.map(({ id, token }) => ({ id, token, outcome: 'done' as const }))
        if (jobs.length > 0) await each.jobs.settle('dispatch', outcomes)
        else if ((await each.stats()).jobs.every(({ waiting, running }) => waiting + running === 0)) return
      }
    }
    await Promise.all(stores.map(work))
    for (const conversation of conversations) {
      assert.deepEqual(
        ran.filter((text) => text.startsWith(`${conversation} `)),
        Array.from({ length: 40 }, (_, n) => `${conversation} ${n}`),
      )
    }
  })

  test('a node that restarts is found again, and signals too', async () => {
    for (const node of cluster.nodes) {
      await node.kill()
      await node.start()
    }
    let heard = 0
    stores[1]?.onSignal('journal', () => heard++)
    const accepted = async () => {
      await store.journal.accept([saying('again', { key: 'again' })])
      return true
    }
    await until(() => accepted().catch(() => false), 'an accepted message', 30_000)
    // Each of these has a key of its own; the subscription may come back after the first of them.
    const accept = async () => {
      await store.journal.accept([saying('signal')])
      return heard > 0
    }
    await until(() => accept().catch(() => false), 'a signal', 30_000)
  })
})
