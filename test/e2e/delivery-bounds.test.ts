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

/** A lease (ms) that a call can prolong in time, on a slow machine too. */
const SHORT_LEASE = 3_000

for (const store of ['embedded', 'redis'] as const) {
  describe(`delivery bounds, on ${store}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, store })
    const send = (path: string, text: string) => suite.daemon.post(path, JSON.stringify({ text }))
    const receive = async (gateway: string, lease = 60_000) =>
      Object(await suite.daemon.invoke('gateway-receive', { gateway, timeout: 0, lease }))
    const nack = (receipt: string, delay?: number) =>
      suite.daemon.invoke('gateway-nack', { receipt, ...(delay && { delay }) })

    test('a message that is never acknowledged becomes a dead letter, which a retry delivers again', async () => {
      await send('/orders', 'poison')
      await send('/orders', 'healthy')
      for (let delivery = 1; delivery <= 3; delivery++) {
        const { text, receipt } = await receive('orders')
        assert.equal(text, 'poison')
        assert.deepEqual(await nack(receipt), { ok: true })
      }
      const { text, receipt } = await receive('orders')
      assert.equal(text, 'healthy')
      await suite.daemon.invoke('gateway-ack', { receipt })
      const letter = await until(
        async () => Object(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }))[0],
        'the dead letter',
      )
      assert.deepEqual([letter.group, letter.message.text], ['orders', 'poison'])
      assert.equal(letter.errors[0].code, 'max_deliveries')
      assert.match(letter.errors[0].message, /delivered 3 times/)
      const shown = Object(await suite.daemon.invoke('message-show', { id: letter.id }))
      assert.equal(shown.receive.state, 'dead')

      await suite.daemon.invoke('dead-letter-retry', { id: letter.id })
      await until(async () => (await receive('orders')).text !== undefined, 'the message')
      assert.deepEqual(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }), [])
    })

    test('a message that is not acknowledged after a retry is a dead letter again', async () => {
      await send('/orders', 'stubborn')
      for (let round = 1; round <= 3; round++) {
        for (let delivery = 1; delivery <= 3; delivery++) {
          const next = async () => [await receive('orders')].find(({ text }) => text !== undefined)
          const { text, receipt } = await until(next, 'the message')
          assert.equal(text, 'stubborn')
          await nack(receipt)
        }
        assert.equal((await receive('orders')).text, undefined)
        const letter = await until(
          async () => Object(await suite.daemon.invoke('dead-letter-list', { queue: 'receive' }))[0],
          `the dead letter of round ${round}`,
        )
        assert.equal(letter.message.text, 'stubborn')
        await suite.daemon.invoke('dead-letter-retry', { id: letter.id })
      }
      await until(async () => (await receive('orders')).text === 'stubborn', 'the message')
    })

    test('gateway-receive with a match leaves other messages', async () => {
      for (const text of ['apple 1', 'pear 1', 'apple 2']) await send('/plain', text)
      const receiveText = async (args: object = {}) =>
        Object(await suite.daemon.invoke('gateway-receive', { gateway: 'plain', timeout: 0, ...args })).text
      assert.equal(await receiveText({ match: { text: 'pear *' } }), 'pear 1')
      assert.equal(await receiveText({ match: { text: 'pear *' } }), undefined)
      await assert.rejects(receiveText({ match: { txt: 'pear' } }), /unknown key "txt"/)
      await assert.rejects(receiveText({ match: { text: '/(/' } }), /text/)
      assert.deepEqual([await receiveText(), await receiveText()], ['apple 1', 'apple 2'])
    })

    test('a group of routes.yaml gets only matching events', async () => {
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
      assert.deepEqual([lag, pending], [0, 0], 'other events do not count as lag')
    })

    test('an event that a group never acknowledges becomes its dead letter, which a retry delivers again', async () => {
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
      assert.equal(others.length, 2, 'another group is not affected')
    })

    test('a gateway without a limit delivers any number of times', async () => {
      await send('/plain', 'again')
      for (let delivery = 0; delivery < 12; delivery++) await nack((await receive('plain')).receipt)
      assert.equal((await receive('plain')).text, 'again')
    })

    test('gateway-extend prolongs a lease, and gateway-nack can hide a message for a delay', async () => {
      await send('/plain', 'slow')
      const first = await receive('plain', SHORT_LEASE)
      assert.deepEqual(
        await suite.daemon.invoke('gateway-extend', { receipt: first.receipt, lease: 60_000 }),
        {
          ok: true,
        },
      )
      const next = Object(
        await suite.daemon.invoke('gateway-receive', {
          gateway: 'plain',
          timeout: SHORT_LEASE + 500,
          lease: 60_000,
        }),
      )
      assert.equal(next.text, undefined)
      const begun = performance.now()
      await nack(first.receipt, 800)
      assert.deepEqual(await nack(first.receipt), { ok: false }, 'the receipt has expired')
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
        suite.daemon.invoke('event-wait', { ...topic, timeout, ack: false, lease: SHORT_LEASE })
      const [event] = Object(await wait(30_000))
      assert.deepEqual(
        await suite.daemon.invoke('event-extend', { ...topic, ids: [event.id], lease: 60_000 }),
        { count: 1 },
      )
      assert.deepEqual(await wait(SHORT_LEASE + 500), [])
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
