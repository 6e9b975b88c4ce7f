import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { openSite } from '../fixtures/daemon.ts'
import { readStream } from '../fixtures/event-stream.ts'
import { startRedisCluster } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const run = promisify(execFile)

/** Numbers of masters. Each has a third of the slots; the last one has that of `{trivium:kv}`. */
const [WITHOUT_KV, WITH_KV] = [0, 2]

describe('a daemon on a Cluster with a master that hangs', { timeout: 300_000 }, async () => {
  const cluster = await startRedisCluster()
  after(() => cluster.stop())
  // By default, a node counts as failed after three seconds. Then the others stop serving as well,
  // and recover only seconds later.
  for (const { port } of cluster.nodes)
    await run('redis-cli', ['-p', `${port}`, 'config', 'set', 'cluster-node-timeout', '120000'])
  const got = new Set<string>()
  const receiver = createServer(async (request, response) => {
    got.add(Object(await json(request)).id)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  after(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  const site = openSite({
    routes: `
gateways:
  hook: { transport: webhook, path: /hook, verify: { scheme: none }, conversation: data.body.c }
subscriptions:
  - { name: crm, url: "http://127.0.0.1:${port}/", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
`,
    env: { REDIS_URL: cluster.url },
  })
  const daemon = await site.start()
  await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'g' })

  /** Posts to 40 conversations. Returns the ids of the accepted messages. */
  const send = async () => {
    const sent = Array.from({ length: 40 }, (_, c) => daemon.post('/hook', JSON.stringify({ c: `c${c}` })))
    const accepted = (await Promise.all(sent)).filter(({ status }) => status === 202)
    return accepted.map(({ body }) => String(Object(body).id))
  }
  const hang = (at: number) => {
    cluster.nodes[at]?.freeze()
    return { [Symbol.dispose]: () => void cluster.nodes[at]?.resume() }
  }

  test('pushes the events of the other shards meanwhile, and the rest later', async () => {
    await send()
    {
      using _hung = hang(WITHOUT_KV)
      const ids = await send()
      assert.ok(ids.length > 0 && ids.length < 40, `${ids.length} accepted`)
      await until(() => ids.every((id) => got.has(id)), 'the events of the other shards')
    }
    await until(async () => (await send()).length === 40, 'the shards of the master')
    const ids = await send()
    await until(() => ids.every((id) => got.has(id)), 'all events')
  })

  test('shows new messages and lists events of the other shards meanwhile, and the rest later', async (t) => {
    const stream = await readStream(`${daemon.control}/v1/stream?only=now,message`, {
      authorization: `Bearer ${daemon.token}`,
    })
    t.after(() => stream.close())
    await stream.one('now')
    const isShown = (id: string) =>
      stream.events.some(({ event, data }) => event === 'message' && data.id === id)
    let ids: string[]
    {
      using _hung = hang(WITHOUT_KV)
      ids = await send()
      await until(() => ids.every(isShown), 'the messages of the other shards')
      const listed = Object(await daemon.invoke('event-list', { topic: 'gateway-message', limit: 5 }))
      assert.ok(listed.events.length === 5 && listed.away.length > 0)
    }
    await until(async () => {
      const more = await send()
      ids.push(...more)
      return more.length === 40
    }, 'the shards of the master')
    await until(() => ids.every(isShown), 'all messages')
  })

  test('serves groups while the shard of the state hangs, which `status` reports', async () => {
    const wait = () => daemon.invoke('event-wait', { topic: 'gateway-message', queue: 'g', timeout: 0 })
    await until(async () => Object(await wait()).length === 0, 'an empty group')
    using _hung = hang(WITH_KV)
    assert.ok((await send()).length > 0)
    await until(async () => Object(await wait()).length > 0, 'events of the other shards')
    const { stats, assistant } = Object(Object(await daemon.get('/v1/status')).result)
    assert.ok(stats.away.length > 0)
    assert.match(assistant.error, /cannot be reached/)
    const { code, out } = await site.run(['status'])
    assert.deepEqual([code, /SHARDS UNAVAILABLE/.test(out)], [1, true])
  })
})
