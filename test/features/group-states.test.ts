import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways: { demo: { transport: cli } }
subscriptions:
  - { name: crm, topic: orders, url: "http://127.0.0.1:9/crm?key=1", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
  - { name: bi, topic: orders, url: "http://127.0.0.1:9/bi", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes: [{ name: all, skill: echo }]
`

describe('the states of consumer groups', async () => {
  const site = openSite({ routes: ROUTES })
  const daemon = await site.start()
  const topic = 'orders'
  const listed = async (queue: string) =>
    Object([await daemon.invoke('event-groups', { topic, queue })].flat()[0])

  test('tell groups that nobody reads from those that are read, and have the states of pushes', async () => {
    for (const queue of ['lost', 'audit']) await daemon.invoke('event-subscribe', { topic, queue })
    await daemon.invoke('subscription-pause', { name: 'bi' })
    const before = Date.now()
    for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic, data })
    await daemon.invoke('event-wait', { topic, queue: 'audit', max: 1, timeout: 0 })
    assert.equal((await listed('lost')).state, 'stalled')
    assert.equal((await listed('audit')).state, 'reading')
    await daemon.invoke('event-wait', { topic, queue: 'audit', max: 9, timeout: 0 })
    assert.equal((await listed('audit')).state, 'current')
    assert.equal((await listed('audit')).push, undefined)
    const { push } = await until(async () => {
      const crm = await listed('crm')
      return crm.push.failingSince === undefined ? undefined : crm
    }, 'a failed attempt')
    assert.equal(push.url, 'http://127.0.0.1:9/crm')
    assert.ok(push.failingSince >= before && push.failingSince <= Date.now(), String(push.failingSince))
    assert.equal((await listed('bi')).push.state, 'paused')
    const { out } = await site.run(['group', 'list'])
    assert.match(out, /orders\s+lost\s+stalled\t3\t/)
    assert.match(
      out,
      /orders\s+crm\s+(retrying|failing) for \d+ (?:s|min)\t.*push to http:\/\/127\.0\.0\.1:9\/crm$/m,
    )
    assert.match(out, /orders\s+bi\s+paused by control/)
  })
})
