import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Redis } from 'ioredis'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { until } from '../../fixtures/until.ts'
import { openStore } from './kit.ts'

/** Accepts again until it is durable, as an upstream does. */
async function accept(store: Store, text: string): Promise<void> {
  await until(
    () =>
      store.journal.accept([saying(text, { key: text })]).then(
        () => true,
        () => undefined,
      ),
    `${text} to be accepted`,
  )
}

async function textsOf(store: Store): Promise<string[]> {
  return (await store.journal.list({ limit: 10 })).map(({ text }) => text).sort()
}

describe('a Redis that crashed in the middle of a write, and crashes once more', () => {
  test('keeps what was accepted in between, for a daemon that stayed', async () => {
    const server = await startRedisServer({ appendfsync: 'always' })
    const store = await openStore(server.url)
    try {
      await accept(store, 'whole')
      await accept(store, 'torn')
      await server.tear()
      await server.start()
      await accept(store, 'between')
      await server.rewritten()
      await server.kill()
      await server.start()
      await accept(store, 'after')
      assert.deepEqual(await textsOf(store), ['after', 'between', 'whole'])
    } finally {
      await store.close()
      await server.stop()
    }
  })

  test('keeps what was accepted in between, for a daemon that was started after it', async () => {
    const server = await startRedisServer({ appendfsync: 'always' })
    try {
      const first = await openStore(server.url)
      await accept(first, 'whole')
      await accept(first, 'torn')
      await first.close()
      await server.tear()
      await server.start()
      const second = await openStore(server.url)
      await accept(second, 'between')
      await second.close()
      await server.rewritten()
      await server.kill()
      await server.start()
      const third = await openStore(server.url)
      assert.deepEqual(await textsOf(third), ['between', 'whole'])
      await third.close()
    } finally {
      await server.stop()
    }
  })

  test('is told to write a new file once, however many daemons come to it', async () => {
    const server = await startRedisServer({ appendfsync: 'always' })
    const client = new Redis(server.port, '127.0.0.1')
    try {
      const first = await openStore(server.url)
      await server.rewritten()
      await first.close()
      const calls = async () =>
        /cmdstat_bgrewriteaof:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]
      assert.equal(await calls(), '1')
      await (await openStore(server.url)).close()
      assert.equal(await calls(), '1')
    } finally {
      client.disconnect()
      await server.stop()
    }
  })
})
