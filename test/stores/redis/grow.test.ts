import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { positionOf, timeOf } from '../../../src/core/message-id.ts'
import type { Store } from '../../../src/core/store.ts'
import { growStore } from '../../../src/stores/redis/grow.ts'
import { createLayout, grown, parseLayout } from '../../../src/stores/redis/layout.ts'
import { acceptAll, newest, readGroup, saying, silent } from '../../contract/store/kit.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startRedisCluster, startRedisServer } from '../../fixtures/redis-server.ts'
import { openStore, redisOf } from './kit.ts'

const NAMES = Array.from({ length: 60 }, (_, n) => `n${n}`)

/** With a conversation, the same later, and none: all ways in which a key comes. */
const keyed = (key: string, conversation?: string) =>
  saying(key, { key, ...(conversation && { conversation }) })
const acceptKeyed = async (store: Store, before = '') => [
  ...(await store.journal.accept(NAMES.map((name) => keyed(`${before}${name}`, name)))),
  ...(await store.journal.accept(NAMES.map((name) => keyed(`${before}bare-${name}`)))),
]
const idsOf = (answers: readonly { id: string }[]) => answers.map(({ id }) => id)

async function takeAll(store: Store): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const found = await store.receive.take({})
    if (!found) return ids
    ids.push(found.message.id)
  }
}

async function consumeAll(store: Store, group: string): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const { items: events } = await readGroup(store, MESSAGE_TOPIC, group, 'consume', { max: 50 })
    if (events.length === 0) return ids
    ids.push(...events.map(({ id }) => id))
  }
}

async function pumpAll(store: Store): Promise<void> {
  for (;;) {
    const { cursor, items: messages } = await store.journal.unpumped(50)
    const last = messages.at(-1)
    if (!last) return
    await store.journal.pumped(cursor, last.id, [])
  }
}

describe('a store that gets more shards', () => {
  const redis = startRedisServer()
  const cluster = startRedisCluster()
  after(async () => Promise.all([(await redis).stop(), (await cluster).stop()]))

  for (const [kind, server, counts] of [
    ['on one Redis, twice', redis, [1, 2, 5]],
    ['on a cluster', cluster, [1, 16]],
  ] as const) {
    test(`keeps ids, keys, what waits and what groups have read, ${kind}`, async () => {
      const { url } = await server
      const [first = 1, ...steps] = counts
      let store = await openStore(url, { shards: first })
      await store.topics.subscribe(MESSAGE_TOPIC, 'g', 'start')
      const sent = idsOf(await acceptKeyed(store))
      const taken = (await store.receive.take({ gateway: 'demo' }))?.message.id
      const read = (await readGroup(store, MESSAGE_TOPIC, 'g', 'consume', { max: 7 })).items.map(
        ({ id }) => id,
      )
      const note = { at: 1, road: 'outbox', what: 'sent' } as const
      await store.journal.note(sent[5] ?? '', [note])
      await pumpAll(store)
      for (const shards of steps) {
        const options = { url, prefix: 'trivium', commandTimeout: 10_000, shards, force: false, log: silent }
        await assert.rejects(
          growStore(options, () => {}),
          { code: 'store_shards', message: /stop all daemons/ },
        )
        await store.close()
        await growStore(options, () => {})
        store = await openStore(url)
        assert.equal(store.topics.partitions(MESSAGE_TOPIC), shards)
        // Each key is known, whichever conversation comes with it.
        const again = await acceptKeyed(store)
        assert.ok(again.every(({ duplicate }) => duplicate))
        assert.deepEqual(idsOf(again), sent.slice(0, again.length))
        const other = await store.journal.accept(NAMES.map((name) => keyed(`bare-${name}`, 'another')))
        assert.deepEqual(idsOf(other), sent.slice(NAMES.length, 2 * NAMES.length))
        sent.push(...idsOf(await acceptKeyed(store, `${shards}-`)))
        await pumpAll(store)
      }
      assert.equal(new Set(sent).size, sent.length)
      const replies = await acceptAll(store, ['reply'], { conversation: sent[0] ?? '' })
      sent.push(...replies)
      for (const id of sent) assert.equal((await store.journal.get(id))?.id, id)
      assert.deepEqual(await store.journal.history(sent[5] ?? ''), [note])
      assert.deepEqual(
        (await newest(store, 1_000)).map(({ id }) => id),
        sent.toSorted().reverse(),
      )
      const { stats } = store
      assert.equal((await stats()).receive.ready, sent.length - 1)
      // Where a conversation was before, and where it is now.
      const ofOne: string[] = []
      for (let step = 0; step < counts.length; step++)
        ofOne.push((await store.receive.take({ conversation: 'n9' }))?.message.text ?? '')
      assert.deepEqual(ofOne, ['n9', ...steps.map((shards) => `${shards}-n9`)])
      const rest = await takeAll(store)
      assert.equal(rest.length + ofOne.length + 1, sent.length)
      assert.ok(
        rest.every((id, at) => rest.slice(0, at).every((before) => timeOf(before) <= timeOf(id) + 1_000)),
      )
      assert.deepEqual(sent.filter((id) => id !== taken && !rest.includes(id)).length, ofOne.length)
      const events = await consumeAll(store, 'g')
      assert.deepEqual([...read, ...events].toSorted(), sent.toSorted())
      await store.close()
    })
  }

  test('is refused while messages wait for dispatch, unless forced, and fewer are always', async (t) => {
    const { open, server, client } = await redisOf(t)
    const store = await open()
    await acceptAll(store, ['a', 'b'], { conversation: 'c' })
    await store.close()
    const options = { url: server.url, prefix: 'trivium', commandTimeout: 10_000, shards: 4, log: silent }
    const grow = (rest: { shards?: number; force?: boolean }) =>
      growStore({ ...options, force: false, ...rest }, () => {})
    await assert.rejects(grow({}), { code: 'store_shards', message: /2 messages and jobs wait/ })
    await assert.rejects(grow({ shards: 1 }), { code: 'store_shards', message: /up to 256, not 1/ })
    await assert.rejects(grow({ shards: 257 }), { code: 'store_shards' })
    const admin = client()
    await admin.set('{trivium}:format', '3')
    await assert.rejects(grow({ force: true }), { code: 'store_version' })
    assert.equal(await admin.get('{trivium}:shards'), '1')
    await admin.set('{trivium}:format', '2')
    await grow({ force: true })
    const again = await open()
    const found: string[] = []
    await acceptAll(again, ['c'], { conversation: 'c' })
    while (found.length < 3) {
      const { cursor, items: messages } = await again.journal.unpumped(10)
      found.push(...messages.map(({ text }) => text))
      await again.journal.pumped(cursor, messages.at(-1)?.id ?? '', [])
    }
    assert.deepEqual(found.toSorted(), ['a', 'b', 'c'])
  })

  test('ids of all its times name one place each, also in gaps between them', () => {
    const layout = grown(grown(createLayout(2), [10, 1_000], 3), [20, 1_500, 7], 16)
    assert.equal(parseLayout(layout.text).text, layout.text)
    const seen = new Set<number>()
    for (let shard = 0; shard < 16; shard++) {
      const { idAt, partsOf } = layout.places(shard)
      for (const place of [1, 2, 7, 10, 11, 20, 21, 1_000, 1_001, 1_500, 1_501, 9_999]) {
        const id = idAt(1_764_000_000_000, place, 5)
        assert.deepEqual([layout.shardIn(id), partsOf(id)], [shard, [place, 1_764_000_000_000, 5]])
        seen.add(positionOf(id) ?? -1)
      }
    }
    assert.equal(seen.size, 16 * 12)
  })

  test('`trivium shards` does it, and the daemon goes on with what routes.yaml says then', async (t) => {
    const { server } = await redisOf(t)
    const site = openSite({
      routes:
        'gateways: { demo: { transport: webhook, path: /hooks/demo } }\nroutes: [{ name: all, skill: echo, reply: none }]',
      env: { REDIS_URL: server.url },
    })
    const one = await site.start()
    const { body } = await one.post('/hooks/demo', '{"n":1}')
    const running = await site.run(['shards', '4'])
    assert.equal(running.code, 2, running.err)
    assert.match(running.err, /stop all daemons first/)
    await one.end('SIGTERM')
    const done = await site.run(['shards', '4', '--json'])
    assert.equal(done.code, 0, done.err)
    assert.deepEqual(JSON.parse(done.out), { before: 1, now: 4, keys: 0 })
    const fewer = await site.run(['shards', '2'])
    assert.equal(fewer.code, 2)
    const two = await site.start()
    const shown = await two.invoke('message-show', { id: Object(body).id })
    assert.equal(Object(shown).text ?? Object(Object(shown).message).text, '{"n":1}')
    await two.end('SIGTERM')
    const embedded = await openSite({ routes: '' }).run(['shards', '4'])
    assert.match(embedded.err, /the embedded store has one/)
  })
})
