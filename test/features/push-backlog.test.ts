import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { readStream } from '../fixtures/event-stream.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'

describe('what waits for a push', async () => {
  let isDown = false
  const got: string[] = []
  const receiver = await serveHttp(async (request, response) => {
    const { id } = JSON.parse((await request.toArray()).join(''))
    response.writeHead(isDown ? 503 : 204).end()
    if (!isDown) got.push(id)
  })
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none } }
  stock: { transport: webhook, path: /stock, verify: { scheme: none } }
subscriptions:
  - name: crm
    url: ${receiver.url}
    match: { gateway: shop }
    allow-private: true
    secret: whsec_${'c2VjcmV0'.repeat(5)}
    retry: { attempts: 20, delay: 1m, max-delay: 1m }
routes: [{ name: all, skill: echo }]
`,
  })
  let daemon = await site.start()
  const send = async (gateway: 'shop' | 'stock', count: number) => {
    for (let n = 0; n < count; n++)
      await daemon.post(`/${gateway}`, JSON.stringify({ text: `${gateway} ${n}` }))
  }

  /** The backlog and the oldest waiting time of the push, as each place has them. */
  const places = async () => {
    const status = Object(Object(await daemon.get('/v1/status')).result)
    const stream = await readStream(`${daemon.control}/v1/stream?only=now`, {
      authorization: `Bearer ${daemon.token}`,
    })
    const { data: now } = await stream.one('now')
    stream.close()
    const named = (list: unknown, key: string, name: string): JsonObject =>
      Object(objectsIn(Object(list)).find((each) => each[key] === name))
    const [group] = objectsIn(await daemon.invoke('event-groups', { queue: 'crm' }))
    const list = await daemon.invoke('subscription-list', {})
    const show = Object(await daemon.invoke('subscription-show', { name: 'crm' }))
    const waiting = Object(await daemon.invoke('subscription-waiting', { name: 'crm' }))
    const pushes = [list, status.subscriptions, now.subscriptions].map((each) => named(each, 'name', 'crm'))
    const roads = [status.roads, now.roads].map((each) => named(each, 'road', 'push/crm'))
    const groups = [status.groups, now.groups].map((each) => named(each, 'group', 'crm'))
    return {
      counts: [
        ...[...pushes, show].map(({ waiting }) => waiting),
        ...roads.map(({ messages }) => messages),
        ...[...groups, Object(group)].map(({ behind }) => behind),
        waiting.events.length,
      ],
      replayed: [
        ...[...pushes, show, waiting, Object(Object(group).push)].map(({ replayed = 0 }) => replayed),
        objectsIn(waiting.events).filter(({ replayed }) => replayed === true).length,
      ],
      times: [
        ...[...pushes, show].map(({ oldestAt }) => oldestAt),
        ...roads.map(({ oldestAt }) => oldestAt),
        Object(group).waitingSince,
      ],
      push: Object(pushes[0]),
    }
  }
  /** Waits until all places say that `count` events wait, since one time. */
  const agreed = (count: number) =>
    until(async () => {
      const found = await places()
      const isAgreed =
        found.counts.every((each) => each === count) &&
        [found.times, found.replayed].every((each) => new Set(each).size === 1)
      return isAgreed ? { ...found, since: Number(found.times[0]) } : undefined
    }, `${count} events in all places`)

  test('only unread events that match its filter are counted and listed, in all places alike', async () => {
    await send('shop', 2)
    await until(() => got.length === 2, 'the first events')
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await send('stock', 2)
    await send('shop', 6)
    await send('stock', 3)
    const { since, push } = await agreed(6)
    assert.partialDeepStrictEqual(push, { queued: 0, unread: 11, matching: 6 })
    const { events } = Object(await daemon.invoke('subscription-waiting', { name: 'crm' }))
    assert.equal(events[0].since, since)
    assert.match(events[0].text, /shop 0/)
    for (const { id } of events) {
      const { message } = Object(await daemon.invoke('message-show', { id }))
      assert.equal(message.gateway, 'shop')
    }
    const { out } = await site.run(['subscription', 'show', 'crm'])
    assert.match(out, /^to send +6 events, the oldest one for \d+ \w+: 0 queued, 6 unread$/m)
    assert.match(out, /^left out +5 of 11 unread events of gateway-message do not match the filter$/m)
    const { troubles } = Object(Object(await daemon.get('/v1/troubles')).result)
    const [trouble] = objectsIn(troubles).filter(({ code }) => code === 'subscription-paused')
    assert.equal(trouble?.count, 6)
    assert.match(String(trouble?.text), / 6 events wait: 0 queued, 6 unread\.$/)
  })

  test('also while its receiver is down, after a pause, a restart and a replay', async () => {
    isDown = true
    await daemon.invoke('subscription-resume', { name: 'crm' })
    await until(async () => places().then(({ push }) => Number(push.queued) > 0), 'a failed attempt')
    const before = await agreed(6)
    const waiting = await site.run(['subscription', 'waiting', 'crm'])
    assert.equal(waiting.out.trim().split('\n').length, 7)
    assert.match(waiting.out, /\tretrying\t1\t.*it answered 503/)
    // Each that was tried is "retrying", wherever it waits.
    for (const line of waiting.out.trim().split('\n').slice(1))
      assert.match(line, /\tretrying\t\d+\t.*it answered 503|\tnot tried yet\t/)
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await send('shop', 1)
    await send('stock', 1)
    assert.equal((await agreed(7)).since, before.since)
    await daemon.end()
    daemon = await site.start()
    assert.equal((await agreed(7)).since, before.since)
    await daemon.invoke('subscription-replay', { name: 'crm', to: got[1] })
    // The replayed events wait since their replay, and the others for longer.
    const after = await agreed(9)
    assert.deepEqual([after.since, after.replayed[0]], [before.since, 2])
    const { out } = await site.run(['subscription', 'show', 'crm'])
    assert.match(out, /^to send +9 events, .*: 7 new, 2 sent again by a replay; \d queued, \d unread$/m)
    for (const [only, many] of [
      ['new', 7],
      ['replayed', 2],
    ] as const) {
      const found = Object(await daemon.invoke('subscription-waiting', { name: 'crm', only }))
      assert.deepEqual([found.events.length, found.waiting, found.more], [many, 9, false])
    }
    isDown = false
    await daemon.invoke('subscription-resume', { name: 'crm' })
    await until(() => new Set(got).size === 9, 'all events')
    const { push } = await agreed(0)
    assert.equal(push.oldestAt, undefined)
  })

  test('the list begins with what has waited longest, also behind many replayed events', async () => {
    await send('shop', 260)
    await until(async () => (await places()).counts.every((count) => count === 0), 'all events')
    await daemon.invoke('subscription-pause', { name: 'crm' })
    await send('shop', 1)
    const { since } = await agreed(1)
    await daemon.invoke('subscription-replay', { name: 'crm', to: got.at(-1) })
    const listed = () => daemon.invoke('subscription-waiting', { name: 'crm', limit: 5 }).then(Object)
    const { events, more } = await until(async () => {
      const found = await listed()
      return found.waiting > 260 ? found : undefined
    }, 'the replayed events')
    assert.equal(events[0].since, since)
    assert.match(events[0].text, /shop 0/)
    assert.equal(events.length, 5)
    assert.equal(more, true)
    const ids: string[] = []
    let after: string | undefined
    do {
      const asked = { name: 'crm', limit: 100, ...(after && { after }) }
      const page = Object(await daemon.invoke('subscription-waiting', asked))
      ids.push(...page.events.map(({ id }: { id: string }) => id))
      after = page.next
    } while (after !== undefined)
    const whole = Object(await daemon.invoke('subscription-waiting', { name: 'crm', limit: 1_000 }))
    assert.deepEqual(
      ids,
      whole.events.map(({ id }: { id: string }) => id),
    )
    assert.equal(new Set(ids).size, whole.waiting)
    const { err } = await site.run(['subscription', 'waiting', 'crm', '--limit', '5'])
    const [, next] = /`trivium (subscription waiting crm --limit 5 --after \S+)`/.exec(err) ?? []
    const second = await site.run([...String(next).split(' '), '--json'])
    assert.deepEqual(
      JSON.parse(second.out).events.map(({ id }: { id: string }) => id),
      ids.slice(5, 10),
    )
    const wrong = daemon.invoke('subscription-waiting', { name: 'crm', after: 'page-2' })
    await assert.rejects(wrong, /bad_request/)
  })
})

test('the command line lists what a group has not read, and skips the older ones of these', async () => {
  const site = openSite({ routes: '' })
  const daemon = await site.start()
  await daemon.invoke('event-subscribe', { topic: 'orders', queue: 'books' })
  const emitted: string[] = []
  for (const data of [1, 2, 3])
    emitted.push(Object(await daemon.invoke('event-emit', { topic: 'orders', type: 'paid', data })).id)
  const first = await site.run(['group', 'unread', 'books', 'orders', '--limit', '2'])
  assert.match(first.out, /paid 1/)
  assert.match(first.out, /paid 2/)
  const [, next] = /Later ones: `trivium (.*)`/.exec(`${first.out}${first.err}`) ?? []
  const second = await site.run([...String(next).split(' '), '--json'])
  assert.deepEqual(
    JSON.parse(second.out).events.map(({ id }: { id: string }) => id),
    emitted.slice(2),
  )
  const dry = await site.run(['group', 'skip', 'books', 'orders', '--dry-run'])
  assert.match(
    dry.out,
    /^3 events would be skipped, published from .* Without --dry-run, they are skipped\.$/m,
  )
  const none = await site.run(['group', 'skip', 'books', 'orders', '--until', '1h'])
  assert.match(none.out, /^There was nothing to skip\./)
  const skipped = await site.run(['group', 'skip', 'books', 'orders'])
  assert.match(skipped.out, /^3 events were skipped\./)
  const rest = await site.run(['group', 'unread', 'books', 'orders'])
  assert.match(`${rest.out}${rest.err}`, /books has read everything of orders\./)
  const help = await site.run(['group', '--help'])
  assert.match(help.out, /skip +skips the events that a consumer group has not read/)
})

test('a skip counts the events that it takes, without erased messages, and the group remembers it', async () => {
  const site = openSite({
    routes: `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: all, skill: echo }]
`,
  })
  const daemon = await site.start()
  const of = { topic: 'gateway-message', queue: 'index' }
  await daemon.invoke('event-subscribe', of)
  for (let n = 0; n < 4; n++) await daemon.post('/shop', JSON.stringify({ text: `order ${n}` }))
  const { events } = Object(await daemon.invoke('event-list', { topic: of.topic }))
  await daemon.invoke('message-erase', { id: events[1].id, confirm: true, wait: 60_000 })
  const seek = { ...of, to: 'now' }
  const dry = Object(await daemon.invoke('event-seek', { ...seek, dryRun: true }))
  assert.partialDeepStrictEqual(dry, {
    skipped: 3,
    lastAt: events[0].timestamp,
    firstAt: events[3].timestamp,
  })
  const { out } = await site.run(['group', 'seek', 'index', of.topic, '--to', 'now'])
  assert.match(out, /^3 events were skipped\.\s+→ `trivium group replay index /)
  const [group] = objectsIn(Object(await daemon.invoke('event-groups', { queue: 'index' })))
  assert.partialDeepStrictEqual(group, { behind: 0, lastSkip: { count: 3 } })
  const shown = await site.run(['group', 'show', 'index'])
  assert.match(shown.out, /^skipped +3 events by \S.* on 20\S+ \S+ UTC \(\d+ \w+ ago\)$/m)
  const [, undo] = /`trivium (.*)`/.exec(out) ?? []
  const replayed = await site.run([...String(undo).split(' '), '--dry-run', '--json'])
  assert.partialDeepStrictEqual(JSON.parse(replayed.out), { redelivered: 3 })
  const paused = await site.run(['group', 'pause', 'index'])
  assert.equal(paused.code, 2)
  assert.match(paused.err, /group has no pause\. Its reader decides when it reads: stop that reader/)
})
