import assert from 'node:assert/strict'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { dumpServers, restoreServers } from '../../src/stores/redis/copy.ts'
import { acceptAll, silent } from '../contract/store/kit.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../stores/redis/kit.ts'

const SITE = {
  routes: `
redis: { shards: 4 }
gateways:
  demo: { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
routes:
  - { name: all, skill: echo, reply: none }
`,
}

describe('trivium backup and restore, with the store in Redis', { timeout: 300_000 }, async () => {
  const [redis, other] = await Promise.all([startRedisServer(), startRedisServer()])
  after(() => Promise.all([redis.stop(), other.stop()]))
  const site = openSite({ ...SITE, env: { REDIS_URL: redis.url } })
  const archive = join(site.dir, 'backup.tgz')

  test('a backup during load has all earlier messages, and can be restored to another Redis', async () => {
    const daemon = await site.start()
    await daemon.invoke('state-set', { key: 'k', value: 1 })
    const saved = await daemon.invoke('state-get', { key: 'k' })
    assert.match(JSON.stringify(saved), /1/)
    await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'audit' })
    const acknowledged: string[] = []
    let isOver = false
    const send = async () => {
      while (!isOver) {
        const { status, body } = await daemon.post('/hooks/demo', JSON.stringify({ n: acknowledged.length }))
        assert.equal(status, 202)
        acknowledged.push(Object(body).id)
      }
    }
    const sending = Promise.all([1, 2, 3, 4].map(send))
    await until(() => acknowledged.length > 300, 'messages before the backup')
    const before = [...acknowledged]
    const made = await site.run(['backup', archive, '--json'])
    assert.equal(made.code, 0, made.err)
    isOver = true
    await sending
    await daemon.end('SIGTERM')

    const target = openSite({ ...SITE, env: { REDIS_URL: other.url } })
    const done = await target.run(['restore', archive, '--json'])
    assert.equal(done.code, 0, done.err)
    const again = await target.run(['restore', archive, '--force', '--json'])
    assert.match(again.err, /backup_refused/)
    const restored = await target.start()
    assert.deepEqual(await restored.invoke('state-get', { key: 'k' }), saved)
    const restoredIds: string[] = []
    let page: string[]
    do {
      const args = { limit: 500, ...(restoredIds.length > 0 && { before: restoredIds.at(-1) }) }
      page = Object.values(Object(await restored.invoke('message-list', args))).map((row) => Object(row).id)
      restoredIds.push(...page)
    } while (page.length > 0)
    assert.deepEqual(
      before.filter((id) => !restoredIds.includes(id)),
      [],
    )
    assert.deepEqual(
      restoredIds.filter((id) => !acknowledged.includes(id)),
      [],
    )
    const { stats, groups } = Object(Object(await restored.get('/v1/status')).result)
    assert.equal(stats.receive.ready, restoredIds.length)
    assert.equal(Object(groups[0]).lag, restoredIds.length)
    assert.equal((await restored.post('/hooks/demo', '{}')).status, 202)
    await restored.end('SIGTERM')
  })

  test('a Redis with content is emptied only with --empty-redis, without the keys of others', async (t) => {
    const target = openSite({ ...SITE, env: { REDIS_URL: other.url } })
    const client = new Redis(other.url)
    t.after(() => client.disconnect())
    await client.mset('{trivium2}:format', 1, '{shop}:key', 1, '{trivium:kv}:later', 1)
    const journals = () => client.keys('{trivium*}:journal')
    const restored = await journals()
    const refused = await target.run(['restore', archive])
    assert.match(refused.err, /is refused: .*--empty-redis/)
    const foreign = openSite({ ...SITE, env: { REDIS_URL: other.url, TRIVIUM_REDIS_PREFIX: 'shop' } })
    assert.match(
      (await foreign.run(['restore', archive, '--empty-redis'])).err,
      /no keys that begin with \{shop/,
    )
    const done = await target.run(['restore', archive, '--empty-redis'])
    assert.equal(done.code, 0, done.err)
    assert.deepEqual((await journals()).sort(), restored.sort())
    const rest = ['{trivium2}:format', '{shop}:key', '{trivium:kv}:later']
    assert.deepEqual(await client.mget(...rest), ['1', '1', null])
    assert.deepEqual(globSync('.trivium/*.sock', { cwd: target.dir }), [])
    const daemon = await target.start()
    assert.match(JSON.stringify(await daemon.invoke('state-get', { key: 'k' })), /1/)
    const inUse = await target.run(['restore', archive, '--force', '--empty-redis'])
    assert.match(inUse.err, /is refused: daemons or commands are connected to it \(1\)/)
    assert.match(JSON.stringify(await daemon.invoke('state-get', { key: 'k' })), /1/)
    await daemon.end('SIGTERM')
  })

  test('an archive of Redis is refused for the embedded store', async () => {
    const embedded = openSite({ routes: SITE.routes })
    const { code, err } = await embedded.run(['restore', archive])
    assert.equal(code, 2, err)
    assert.match(err, /of Redis, and there is none here: set REDIS_URL/)
  })
})

test('a cluster with long streams can be copied to another cluster', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'trivium-copy-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const clusters = await Promise.all([startRedisCluster(), startRedisCluster()])
  t.after(() => Promise.all(clusters.map(({ stop }) => stop())))
  const [from, to] = clusters
  const store = await openStore(from.url)
  // A stream with more than 10,000 entries is copied in parts.
  const texts = Array.from({ length: 10_500 }, (_, n) => `${n}`)
  await acceptAll(store, texts, { conversation: 'one' })
  await acceptAll(store, ['a', 'b'])
  await store.kv.set('k', 1)
  const { files, db } = await dumpServers({ url: from.url, log: silent }, dir, () => {})
  assert.deepEqual([files.length, db], [3, 0])
  const options = { url: to.url, prefix: 'trivium', db, log: silent }
  const paths = files.map((file) => join(dir, file))
  await restoreServers(options, paths, () => {})
  await assert.rejects(
    restoreServers(options, paths, () => {}),
    { code: 'backup_refused' },
  )
  await restoreServers({ ...options, empty: true }, paths, () => {})
  const copy = await openStore(to.url)
  assert.deepEqual((await copy.kv.get('k'))?.value, 1)
  assert.deepEqual(await copy.stats(), await store.stats())
  assert.equal((await copy.receive.take({}))?.message.text, '0')
  const [id = ''] = await acceptAll(copy, ['next'], { conversation: 'one' })
  assert.equal((await copy.journal.get(id))?.text, 'next')
  await Promise.all([store.close(), copy.close()])
})
