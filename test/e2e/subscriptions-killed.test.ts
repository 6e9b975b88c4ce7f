import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = 'gateways:\n  hook: { transport: webhook, path: /hook, verify: { scheme: none } }\n'
const NAMES = ['a', 'b', 'c', 'd']

for (const kind of ['embedded', 'redis'] as const) {
  test(`kills during changes of subscriptions on the ${kind} store leave none half changed, and lose no event`, {
    timeout: 300_000,
  }, async (t) => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) t.after(() => redis.stop())
    const got = new Set<string>()
    const receiver = createServer(async (request, response) => {
      const { data } = Object(await json(request))
      got.add(`${request.url} ${data}`)
      response.end()
    }).listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    t.after(() => receiver.close())
    const { port } = receiver.address() as AddressInfo
    const site = openSite({
      ownProcess: true,
      routes: ROUTES,
      env: redis ? { REDIS_URL: redis.url } : {},
    })
    let daemon = await site.start()
    const settings = (name: string) => ({
      name,
      url: `http://127.0.0.1:${port}/${name}`,
      topic: 'orders',
      allowPrivate: true,
    })
    const list = async (): Promise<{ name: string; topic: string }[]> =>
      Object(await daemon.invoke('subscription-list', {}))

    for (const killAt of [0, 1, 2, 3]) {
      const changes = NAMES.map(async (name) => {
        await daemon.invoke('subscription-create', settings(name))
        await daemon.invoke('subscription-update', { name, rate: '100/s' })
        await daemon.invoke('subscription-delete', { name, force: true })
      })
      const ended = Promise.allSettled(changes)
      // Killed when there are `killAt` subscriptions: during creations, changes and deletions.
      const isTime = async () => killAt === 0 || (await list()).length >= killAt
      await until(isTime, `${killAt} subscriptions`).catch(() => [])
      await daemon.end('SIGKILL')
      await ended
      daemon = await site.start()

      // A deleted subscription is gone with its group, and an existing one can be changed and
      // works.
      const groups = async () =>
        Object(await daemon.invoke('event-groups', { topic: 'orders' })).map(
          ({ group }: { group: string }) => group,
        )
      const names = async () => (await list()).map(({ name }) => name).toSorted()
      await until(
        async () => `${(await groups()).toSorted()}` === `${await names()}`,
        'one group per subscription',
      )
      for (const name of NAMES) {
        const there = await names()
        if (there.includes(name)) await daemon.invoke('subscription-update', { name, rate: '50/s' })
        else await daemon.invoke('subscription-create', settings(name))
      }
      await daemon.invoke('event-emit', { topic: 'orders', data: killAt })
      for (const name of NAMES) await until(() => got.has(`/${name} ${killAt}`), `event ${killAt} at ${name}`)
      for (const name of NAMES) await daemon.invoke('subscription-delete', { name, force: true })
      assert.deepEqual([await names(), await groups()], [[], []])
    }
  })
}
