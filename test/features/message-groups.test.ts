import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const secret = `whsec_${'c2VjcmV0'.repeat(5)}`
const ROUTES = `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  desk: { transport: webhook, path: /desk, verify: { scheme: none } }
subscriptions:
  - { name: erp, match: { gateway: desk }, url: "http://127.0.0.1:9/erp", allow-private: true, secret: ${secret} }
  - { name: all, url: "http://127.0.0.1:9/all", allow-private: true, secret: ${secret} }
topics: { gateway-message: { groups: { archive: { match: { gateway: desk } }, index: {} } } }
routes: [{ name: all, skill: echo }]
`

describe('the groups of a message', async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()

  test('are those that get it, without groups whose filter excludes it and groups of a single call', async () => {
    await daemon.invoke('event-subscribe', { topic: 'gateway-message' })
    const sent = async (path: string) => String(Object((await daemon.post(path, '{"text":"hello"}')).body).id)
    const groupsOf = async (id: string) =>
      Object(await daemon.invoke('message-show', { id }))
        .events.map(({ group }: { group: string }) => group)
        .sort()
    assert.deepEqual(await groupsOf(await sent('/shop')), ['all', 'index'])
    assert.deepEqual(await groupsOf(await sent('/desk')), ['all', 'archive', 'erp', 'index'])
  })

  test('the last reader of a group is known after a restart', async () => {
    const args = { topic: 'gateway-message', queue: 'index' }
    const before = Date.now()
    await daemon.invoke('event-wait', { ...args, max: 1, timeout: 0 })
    const listed = async (of: typeof daemon) => Object([await of.invoke('event-groups', args)].flat()[0])
    assert.equal((await listed(daemon)).lastRead, undefined)
    await daemon.end()
    const next = await site.start()
    const { readers, lastRead } = await until(async () => listed(next), 'the group')
    assert.deepEqual(readers, [])
    assert.match(lastRead.by, /control/)
    assert.ok(lastRead.at >= before && lastRead.at <= Date.now())
    // A peek makes nobody a reader, an acknowledgement does.
    await next.post('/desk', '{"text":"hello again"}')
    const [event] = [await next.invoke('event-wait', { ...args, ack: false, timeout: 0 })].flat()
    assert.deepEqual((await listed(next)).readers, [])
    assert.deepEqual((await listed(next)).lastRead, lastRead)
    await next.invoke('event-ack', { ...args, ids: [String(Object(event).id)] })
    assert.partialDeepStrictEqual((await listed(next)).readers, [{ events: 1 }])
  })
})
