import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MESSAGE_TOPIC } from '../../../src/core/event.ts'
import { positionOf } from '../../../src/core/message-id.ts'
import type { Store } from '../../../src/core/store.ts'
import { growStore } from '../../../src/stores/redis/grow.ts'
import { createLayout, grown, parseLayout } from '../../../src/stores/redis/layout.ts'
import { acceptAll, newest, pumpAll, readGroup, saying, silent } from '../../contract/store/kit.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startRedisCluster, startRedisServer } from '../../fixtures/redis-server.ts'
import { assertOrder, openStore, redisOf } from './kit.ts'

const NAMES = Array.from({ length: 60 }, (_, n) => `n${n}`)

/**
 * Accepts two messages per name, with and without a conversation, and with keys that start with
 * `prefix`.
 */
async function acceptKeyed(store: Store, prefix = '') {
  const withConversation = NAMES.map((name) =>
    saying(`${prefix}${name}`, { key: `${prefix}${name}`, conversation: name }),
  )
  const without = NAMES.map((name) => saying(`${prefix}bare-${name}`, { key: `${prefix}bare-${name}` }))
  return [...(await store.journal.accept(withConversation)), ...(await store.journal.accept(without))]
}
const idsOf = (answers: readonly { id: string }[]) => answers.map(({ id }) => id)

async function takeAll(store: Store): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const taken = await store.receive.take({})
    if (!taken) return ids
    ids.push(taken.message.id)
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

describe('a store that gets more shards', () => {
  const redis = startRedisServer()
  const cluster = startRedisCluster()
  after(async () => Promise.all([(await redis).stop(), (await cluster).stop()]))

  for (const [kind, server, counts] of [
    ['from 1 to 2 and 5 shards on one Redis', redis, [1, 2, 5]],
    ['from 1 to 16 shards on a cluster', cluster, [1, 16]],
  ] as const) {
    test(`keeps ids, keys, waiting messages and the positions of groups, ${kind}`, async () => {
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
        const repeated = await acceptKeyed(store)
        assert.ok(repeated.every(({ duplicate }) => duplicate))
        assert.deepEqual(idsOf(repeated), sent.slice(0, repeated.length))
        // A key is also known if it is repeated with another conversation.
        const moved = NAMES.map((name) => saying(name, { key: `bare-${name}`, conversation: 'another' }))
        assert.deepEqual(idsOf(await store.journal.accept(moved)), sent.slice(NAMES.length, 2 * NAMES.length))
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
      assert.equal((await store.stats()).receive.ready, sent.length - 1)
      // The messages of a conversation are on its earlier shards and on its present one.
      const ofConversation: string[] = []
      for (let step = 0; step < counts.length; step++)
        ofConversation.push((await store.receive.take({ conversation: 'n9' }))?.message.text ?? '')
      assert.deepEqual(ofConversation, ['n9', ...steps.map((shards) => `${shards}-n9`)])
      const rest = await takeAll(store)
      assert.equal(rest.length + ofConversation.length + 1, sent.length)
      assertOrder(rest)
      assert.equal(sent.filter((id) => id !== taken && !rest.includes(id)).length, ofConversation.length)
      const events = await consumeAll(store, 'g')
      assert.deepEqual([...read, ...events].toSorted(), sent.toSorted())
      await store.close()
    })
  }

  test('refuses to grow while messages wait for dispatch, unless forced, and always refuses to shrink', async (t) => {
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
    const reopened = await open()
    const found: string[] = []
    await acceptAll(reopened, ['c'], { conversation: 'c' })
    while (found.length < 3) {
      const { cursor, items: messages } = await reopened.journal.unpumped(10)
      found.push(...messages.map(({ text }) => text))
      await reopened.journal.pumped(cursor, messages.at(-1)?.id ?? '', [])
    }
    assert.deepEqual(found.toSorted(), ['a', 'b', 'c'])
  })

  test('an id of any layout names exactly one shard and position', () => {
    const TIME = 1_764_000_000_000
    /** Around the ends of the first two layouts, and beyond. */
    const POSITIONS = [1, 2, 7, 10, 11, 20, 21, 1_000, 1_001, 1_500, 1_501, 9_999]
    const layout = grown(grown(createLayout(2), [10, 1_000], 3), [20, 1_500, 7], 16)
    assert.equal(parseLayout(layout.text).text, layout.text)
    const seen = new Set<number>()
    for (let shard = 0; shard < 16; shard++) {
      const { idAt, partsOf } = layout.places(shard)
      for (const position of POSITIONS) {
        const id = idAt(TIME, position, 5)
        assert.deepEqual([layout.shardIn(id), partsOf(id)], [shard, [position, TIME, 5]])
        seen.add(positionOf(id) ?? -1)
      }
    }
    assert.equal(seen.size, 16 * POSITIONS.length)
  })

  test('`trivium store grow` grows the store, and the daemon starts with the new number', async (t) => {
    const { server } = await redisOf(t)
    const site = openSite({
      routes:
        'gateways: { demo: { transport: webhook, path: /hooks/demo } }\nroutes: [{ name: all, skill: echo, reply: none }]',
      env: { REDIS_URL: server.url },
    })
    const before = await site.start()
    const { body } = await before.post('/hooks/demo', '{"n":1}')
    const refused = await site.run(['store', 'grow', '4'])
    assert.equal(refused.code, 2, refused.err)
    assert.match(refused.err, /stop all daemons first/)
    await before.end('SIGTERM')
    const grown = await site.run(['store', 'grow', '4', '--json'])
    assert.equal(grown.code, 0, grown.err)
    assert.deepEqual(JSON.parse(grown.out), { before: 1, now: 4, keys: 0 })
    const fewer = await site.run(['store', 'grow', '2'])
    assert.equal(fewer.code, 2)
    const after = await site.start()
    const shown = await after.invoke('message-show', { id: Object(body).id })
    assert.equal(Object(shown).text ?? Object(Object(shown).message).text, '{"n":1}')
    await after.end('SIGTERM')
    const embedded = await openSite({ routes: '' }).run(['store', 'grow', '4'])
    assert.match(embedded.err, /the embedded store has one/)
  })
})
