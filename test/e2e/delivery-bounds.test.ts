import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, text: data.body.text, receive: { max-deliveries: 3 } }
  plain: { transport: webhook, path: /plain, verify: { scheme: none }, text: data.body.text }
  mixed: { transport: webhook, path: /mixed, verify: { scheme: none }, text: data.body.text }
topics:
  gateway-message: { groups: { billing: { match: { gateway: mixed, data.body.kind: invoice } } } }
  work: { groups: { workers: { max-deliveries: 2 } } }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`the bounds of a delivery, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store })
    const send = (path: string, text: string) => suite.daemon.post(path, JSON.stringify({ text }))
    const take = async (gateway: string, lease = 60_000) =>
      Object(await suite.daemon.invoke('gateway-receive', { gateway, timeout: 0, lease }))
    const giveBack = (receipt: string, delay?: number) =>
      suite.daemon.invoke('gateway-nack', { receipt, ...(delay && { delay }) })

    test('a message that is never acknowledged becomes a dead letter, and its retry delivers it again', async () => {
      await send('/orders', 'poison')
      await send('/orders', 'healthy')
      for (let delivery = 1; delivery <= 3; delivery++) {
        const { text, receipt } = await take('orders')
        assert.equal(text, 'poison')
        assert.deepEqual(await giveBack(receipt), { ok: true })
      }
      const { text, receipt } = await take('orders')
      assert.equal(text, 'healthy')
      await suite.daemon.invoke('gateway-ack', { receipt })
      const letter = await until(
        async () => Object(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }))[0],
        'the dead letter',
      )
      assert.deepEqual([letter.group, letter.message.text], ['orders', 'poison'])
      assert.equal(letter.errors[0].code, 'max_deliveries')
      assert.match(letter.errors[0].message, /delivered 3 times/)
      const { receive } = Object(await suite.daemon.invoke('message-show', { id: letter.id }))
      assert.equal(receive.state, 'dead')

      await suite.daemon.invoke('dead-letter-retry', { id: letter.id })
      const again = await until(async () => ((await take('orders')).text ? take : undefined), 'the message')
      assert.ok(again)
      assert.deepEqual(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }), [])
    })

    test('a message that is poison after its retry, too, is a dead letter once more', async () => {
      await send('/orders', 'stubborn')
      for (let round = 1; round <= 3; round++) {
        for (let delivery = 1; delivery <= 3; delivery++) {
          const next = async () => [await take('orders')].find(({ text }) => text !== undefined)
          const { text, receipt } = await until(next, 'the message')
          assert.equal(text, 'stubborn')
          await giveBack(receipt)
        }
        assert.equal((await take('orders')).text, undefined)
        const letter = await until(
          async () => Object(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }))[0],
          `the dead letter of round ${round}`,
        )
        assert.equal(letter.message.text, 'stubborn')
        await suite.daemon.invoke('dead-letter-retry', { id: letter.id })
      }
      await until(async () => (await take('orders')).text === 'stubborn', 'the message')
    })

    test('gateway-receive with a match takes what fits and leaves the rest to others', async () => {
      for (const text of ['apple 1', 'pear 1', 'apple 2']) await send('/plain', text)
      const receive = async (args: object = {}) =>
        Object(await suite.daemon.invoke('gateway-receive', { gateway: 'plain', timeout: 0, ...args })).text
      assert.equal(await receive({ match: { text: 'pear *' } }), 'pear 1')
      assert.equal(await receive({ match: { text: 'pear *' } }), undefined)
      await assert.rejects(receive({ match: { txt: 'pear' } }), /unknown key "txt"/)
      await assert.rejects(receive({ match: { text: '/(/' } }), /text/)
      assert.deepEqual([await receive(), await receive()], ['apple 1', 'apple 2'])
    })

    test('a group of routes.yaml is given only what its match fits', async () => {
      const group = { topic: 'gateway-message', queue: 'billing' }
      await suite.daemon.invoke('event-subscribe', group)
      for (const kind of ['news', 'invoice', 'news', 'invoice'])
        await suite.daemon.post('/mixed', JSON.stringify({ kind, text: kind }))
      const wait = (args: object = {}) =>
        suite.daemon.invoke('event-wait', { ...group, timeout: 10_000, ack: false, ...args })
      const events = Object(
        await until(async () => [await wait()].find((all) => Object(all).length === 2), 'both'),
      )
      assert.deepEqual(
        events.map(({ data }: { data: { body: { kind: string } } }) => data.body.kind),
        ['invoice', 'invoice'],
      )
      await assert.rejects(wait({ match: { text: 'news' } }), /group_filter/)
      await suite.daemon.invoke('event-ack', { ...group, ids: events.map(({ id }: { id: string }) => id) })
      assert.deepEqual(await wait({ timeout: 0 }), [])
      const status = Object(await suite.daemon.get('/v1/status')).result
      const { lag, pending } = status.groups['gateway-message/billing'] ?? { lag: 0, pending: 0 }
      assert.deepEqual([lag, pending], [0, 0], 'what was passed over does not wait')
    })

    test('an event that a group never acknowledges becomes its dead letter, and its retry gives it again', async () => {
      const group = { topic: 'work', queue: 'workers' }
      for (const queue of ['workers', 'others'])
        await suite.daemon.invoke('event-subscribe', { ...group, queue })
      await suite.daemon.invoke('event-emit', { topic: 'work', data: { text: 'poison' } })
      await suite.daemon.invoke('event-emit', { topic: 'work', data: { text: 'healthy' } })
      const wait = async (timeout: number, max = 1) =>
        Object(await suite.daemon.invoke('event-wait', { ...group, ack: false, lease: 60_000, timeout, max }))
      const nack = (id: string) => suite.daemon.invoke('event-ack', { ...group, ids: [id], nack: true })
      for (let round = 1; round <= 2; round++) {
        for (let delivery = 1; delivery <= 2; delivery++) {
          const [event] = await wait(10_000)
          assert.equal(event.data.text, 'poison')
          await nack(event.id)
        }
        const [next] = await wait(0)
        assert.equal(next?.data.text, round === 1 ? 'healthy' : undefined)
        if (next) await suite.daemon.invoke('event-ack', { ...group, ids: [next.id] })
        const letter = await until(
          async () => Object(await suite.daemon.invoke('dead-letter-list', { queue: 'events' }))[0],
          `the dead letter of round ${round}`,
        )
        assert.equal(letter.group, 'workers')
        assert.equal(letter.errors[0].code, 'group_max_deliveries')
        assert.equal(letter.data.event.data.text, 'poison')
        await suite.daemon.invoke('dead-letter-retry', { id: letter.id })
      }
      const [again] = await wait(10_000)
      assert.equal(again.data.text, 'poison')
      const others = Object(
        await suite.daemon.invoke('event-wait', { ...group, queue: 'others', timeout: 0 }),
      )
      assert.equal(others.length, 2, 'another group is not touched')
    })

    test('a gateway without a limit delivers as often as it takes', async () => {
      await send('/plain', 'again')
      for (let delivery = 0; delivery < 12; delivery++) await giveBack((await take('plain')).receipt)
      assert.equal((await take('plain')).text, 'again')
    })

    test('gateway-nack with a delay hides a message for so long, and gateway-extend keeps it', async () => {
      await send('/plain', 'slow')
      const first = await take('plain', 500)
      assert.deepEqual(
        await suite.daemon.invoke('gateway-extend', { receipt: first.receipt, lease: 60_000 }),
        {
          ok: true,
        },
      )
      const next = Object(
        await suite.daemon.invoke('gateway-receive', { gateway: 'plain', timeout: 1_000, lease: 60_000 }),
      )
      assert.equal(next.text, undefined)
      const begun = performance.now()
      await giveBack(first.receipt, 800)
      assert.deepEqual(await giveBack(first.receipt), { ok: false }, 'the receipt is over')
      const again = Object(
        await suite.daemon.invoke('gateway-receive', { gateway: 'plain', timeout: 20_000 }),
      )
      assert.equal(again.text, 'slow')
      assert.ok(performance.now() - begun > 700)
    })

    test('event-extend keeps events hidden from their group', async () => {
      const topic = { topic: 'jobs', queue: 'workers' }
      await suite.daemon.invoke('event-subscribe', topic)
      await suite.daemon.invoke('event-emit', { topic: 'jobs', data: 1 })
      const wait = (timeout: number) =>
        suite.daemon.invoke('event-wait', { ...topic, timeout, ack: false, lease: 500 })
      const [event] = Object(await wait(5_000))
      assert.deepEqual(
        await suite.daemon.invoke('event-extend', { ...topic, ids: [event.id], lease: 60_000 }),
        { count: 1 },
      )
      assert.deepEqual(await wait(1_000), [])
      await assert.rejects(
        suite.daemon.invoke('event-extend', {
          topic: 'jobs',
          queue: 'nobody',
          ids: [event.id],
          lease: 1_000,
        }),
        /group_not_found/,
      )
    })
  })
}
