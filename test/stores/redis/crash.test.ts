import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { openStore } from './kit.ts'

const ROUNDS = 4

/** Retries what the store refused, as an upstream does, until it is accepted. */
async function acceptUntilDurable(store: Store, key: string): Promise<string> {
  for (;;) {
    try {
      const [answer] = await store.journal.accept([saying(key, { key })])
      assert.ok(answer)
      return answer.id
    } catch (error) {
      assert.ok(error instanceof TriviumError && error.code === 'store_unavailable', String(error))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

test('what was acknowledged survives SIGKILL of redis-server under load, once, on every road', async () => {
  const server = await startRedisServer({ appendfsync: 'always' })
  const stores = [await openStore(server.url), await openStore(server.url)]
  const [first] = stores
  assert.ok(first)
  try {
    await first.topics.subscribe('gateway-message', 'all', 'start')
    const acknowledged = new Map<string, string>()
    let running = true
    let serial = 0
    const clients = stores.flatMap((store) =>
      Array.from({ length: 8 }, async () => {
        while (running) {
          const key = `key-${serial++}`
          acknowledged.set(key, await acceptUntilDurable(store, key))
        }
      }),
    )
    for (let round = 0; round < ROUNDS; round++) {
      const target = acknowledged.size + 200
      await until(() => acknowledged.size > target, 'more load', 20_000)
      await server.kill()
      await server.start()
    }
    const target = acknowledged.size + 100
    await until(() => acknowledged.size > target, 'load after the last restart', 20_000)
    running = false
    await Promise.all(clients)

    const journal = new Map<string, string>()
    for (let cursor = 0; ; ) {
      const { messages } = await first.journal.unpumped(500)
      const last = messages.at(-1)
      if (!last) break
      for (const { message } of messages) {
        assert.ok(!journal.has(message.text), `${message.text} is there once`)
        journal.set(message.text, message.id)
      }
      assert.equal(await first.journal.pumped(cursor, last.position, []), true)
      cursor = last.position
    }
    for (const [key, id] of acknowledged) assert.equal(journal.get(key), id, `${key} was acknowledged`)

    const seen = new Set<string>()
    for (;;) {
      const request = { group: 'all', max: 500, mode: 'consume' as const }
      const [batch] = await first.topics.read('gateway-message', [request])
      if (!batch?.events.length) break
      assert.equal(batch.missed, 0)
      for (const event of batch.events) seen.add(event.id)
    }
    assert.deepEqual(seen, new Set(journal.values()))

    const taken = new Set<string>()
    const takers = stores.map(async (store) => {
      for (;;) {
        const got = await store.receive.take({})
        if (!got) return
        assert.ok(!taken.has(got.message.id), 'each is taken once')
        taken.add(got.message.id)
      }
    })
    await Promise.all(takers)
    assert.deepEqual(taken, seen)
  } finally {
    for (const store of stores) await store.close()
    await server.stop()
  }
})
