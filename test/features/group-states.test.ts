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
    const { state, noReader } = await listed('lost')
    assert.deepEqual([state, noReader], ['stalled', {}])
    assert.match((await site.run(['group', 'show', 'lost'])).out, /\nNo reader since the daemon started\.\n/)
    assert.equal((await listed('audit')).noReader, undefined)
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
    // Unread, read and queued events of a push are behind until they are sent.
    const crm = await listed('crm')
    assert.equal(crm.behind, 3)
    assert.match(out, /orders\s+crm\s[^\t]*\t3\t/)
    assert.match(
      (await site.run(['group', 'show', 'bi'])).out,
      /^to send +3 events, the oldest one for \d+ (?:s|min): 0 queued, 3 unread\nlongest wait +\d+ (?:s|min), since /m,
    )
  })

  test('a group whose reader found nothing a moment ago is read, also just after a replay', async () => {
    await daemon.invoke('event-subscribe', { topic, queue: 'poller' })
    await daemon.invoke('event-wait', { topic, queue: 'poller', max: 9, timeout: 0 })
    await daemon.invoke('event-replay', { topic, queue: 'poller' })
    const poller = await until(async () => {
      const found = await listed('poller')
      return found.behind > 0 ? found : undefined
    }, 'the replayed events')
    assert.deepEqual([poller.perMinute, poller.state], [0, 'reading'])
  })

  test('replayed events count as behind, and not as being read', async () => {
    await daemon.invoke('event-wait', { topic, queue: 'lost', max: 3, timeout: 0 })
    await daemon.invoke('event-emit', { topic, data: 4 })
    const unread = await listed('lost')
    const events = Object(await daemon.invoke('event-list', { topic })).events
    const [{ id }] = events.slice(-1)
    await daemon.invoke('event-replay', { topic, queue: 'lost', from: id, to: id })
    const group = await until(async () => {
      const found = await listed('lost')
      return found.again === 1 ? found : undefined
    }, 'the replayed event')
    assert.partialDeepStrictEqual(group, { lag: 1, pending: 1, behind: 2, oldestId: id })
    assert.equal(group.waitingSince, unread.waitingSince)
    assert.match((await site.run(['group', 'list'])).out, /orders\s+lost\s+\S+\t2\t[^\t]*\t0\t/)
    const { out } = await site.run(['group', 'show', 'lost'])
    assert.match(out, /^unread +1 event\nto be delivered again +1 event\n/m)
    assert.match(out, /^being read +0 events$/m)
  })

  test('a group skips its unread events until a time, and a replay brings them back', async () => {
    const of = { topic: 'repairs', queue: 'bench' }
    await daemon.invoke('event-subscribe', of)
    for (const data of [1, 2, 3]) await daemon.invoke('event-emit', { topic: of.topic, data })
    const events: { id: string; timestamp: number }[] = Object(
      await daemon.invoke('event-list', { topic: of.topic }),
    ).events.toReversed()
    const [first, , third] = events
    const until = new Date(third?.timestamp ?? 0).toISOString()
    const before = events.filter(({ timestamp }) => timestamp < (third?.timestamp ?? 0)).length
    const args = { ...of, to: 'now', until }
    const dry = Object(await daemon.invoke('event-seek', { ...args, dryRun: true }))
    assert.partialDeepStrictEqual(dry, { skipped: before, redelivered: 0 })
    if (before > 0) assert.equal(dry.firstAt, first?.timestamp)
    const moved = await site.run(['group', 'seek', 'bench', 'repairs', '--to', 'now', '--until', until])
    assert.match(
      `${moved.out}${moved.err}`,
      before > 0
        ? /^[12] events? (was|were) skipped\.\s+→ `trivium group replay bench repairs --since \S+ --until \S+` delivers/
        : /^There was nothing to skip\./,
    )
    const [group] = [await daemon.invoke('event-groups', of)].flat()
    assert.partialDeepStrictEqual(group, { lag: 3 - before, pending: 0 })
    const wrong = await site.run(['group', 'seek', 'bench', 'repairs', '--to', 'start', '--until', '1h'])
    assert.match(wrong.err, /`until` needs `to: now`/)
  })
})
