import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Redis } from 'ioredis'
import { encodeMessage } from '../../../src/core/message.ts'
import type { Store } from '../../../src/core/store.ts'
import { saying } from '../../contract/store/kit.ts'
import { startRedisServer } from '../../fixtures/redis-server.ts'
import { openStore } from './kit.ts'

const MESSAGES = 20_000
const BATCH = 200

/** A webhook of 1 KB with a delivery id, as most come. */
function webhook(n: number) {
  const text = JSON.stringify({ n, body: 'x'.repeat(900) })
  return saying(text, { key: `delivery-${n}-0123456789abcdef`, data: { format: 'json', event: 'push' } })
}

async function dispatchAll(store: Store): Promise<void> {
  for (;;) {
    const { cursor, messages } = await store.journal.unpumped(BATCH)
    const last = messages.at(-1)
    if (!last) return
    const jobs = messages.map(({ message: { id, conversation } }) => ({
      id,
      lane: conversation,
      group: 'rest',
      messageId: id,
    }))
    await store.journal.pumped(cursor, last.position, jobs)
    const claimed = await store.jobs.claim('dispatch', { max: BATCH, lease: 60_000, owner: 'me' })
    const note = { at: Date.now(), road: 'dispatch', what: 'done', detail: { route: 'rest' } } as const
    const outcomes = claimed.jobs.map(({ id, token }) => ({
      id,
      token,
      outcome: 'done' as const,
      notes: [note],
    }))
    await store.jobs.settle('dispatch', outcomes)
  }
}

test('a message of 1 KB takes at most 1.6 KB of Redis, its dispatch, key and history included', async () => {
  const server = await startRedisServer({ appendfsync: 'no' })
  const store = await openStore(server.url)
  const admin = new Redis(server.url)
  const used = async () => Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1])
  try {
    const before = await used()
    for (let n = 0; n < MESSAGES; n += BATCH) {
      await store.journal.accept(Array.from({ length: BATCH }, (_, i) => webhook(n + i)))
      await dispatchAll(store)
    }
    const each = ((await used()) - before) / MESSAGES
    const size = encodeMessage(webhook(MESSAGES)).length
    assert.ok(size > 1_000, `a message of ${size} bytes`)
    assert.ok(each <= 1_600, `${Math.round(each)} bytes for a message of ${size}`)
    assert.equal(
      await admin.exists('{trivium}:jobs:dispatch:all', '{trivium}:needs'),
      0,
      'jobs leave nothing',
    )
  } finally {
    admin.disconnect()
    await store.close()
    await server.stop()
  }
})
