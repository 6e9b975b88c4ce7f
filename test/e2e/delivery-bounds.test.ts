import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  orders: { transport: webhook, path: /orders, verify: { scheme: none }, text: data.body.text, receive: { max-deliveries: 3 } }
  plain: { transport: webhook, path: /plain, verify: { scheme: none }, text: data.body.text }
`

for (const store of ['embedded', 'redis'] as const) {
  describe(`the bounds of a delivery, on ${store}`, { timeout: 90_000 }, () => {
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
