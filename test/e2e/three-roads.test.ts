import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { suiteWithDaemon } from '../fixtures/suite.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo:  { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  ask:   { transport: webhook, path: /hooks/ask, verify: { scheme: none }, respond: result, timeout: 4m }
  chat:  { transport: websocket, path: /ws }
routes:
  - name: failing
    match: { gateway: demo, data.body.fail: "true" }
    skill: fail
    retry: { attempts: 2, delay: 10ms }
  - name: record
    match: { gateway: demo, data.body.record: "true" }
    skill: record
  - name: ask
    match: { gateway: ask }
    skill: echo
  - name: chat
    match: { gateway: chat }
    skill: echo
`

const SKILLS = {
  fail: `export default { description: 'fails', run() { throw new Error('I always fail') } }`,
  record: `export default { description: 'records', async run(ctx) {
    await ctx.manager.invoke('event-emit', { topic: 'seen', data: { id: ctx.message.id, n: ctx.message.data.body.n ?? null } })
  } }`,
}

for (const kind of ['embedded', 'redis'] as const) {
  describe(`the three ways to consume messages, on ${kind}`, { timeout: 300_000 }, () => {
    const suite = suiteWithDaemon({ routes: ROUTES, skills: SKILLS, store: kind })

    const accept = async (body: object, path = '/hooks/demo', headers: Record<string, string> = {}) => {
      const answer = await suite.daemon.post(path, JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      })
      return { ...answer, id: String(Object(answer.body).id) }
    }

    test('one message is dispatched, received and published as an event independently', async () => {
      await suite.daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'watchers' })
      await suite.daemon.invoke('event-subscribe', { topic: 'seen', queue: 'road' })
      const { status, id } = await accept({ record: true, n: 1 })
      assert.equal(status, 202)

      const seen = Object(
        await suite.daemon.invoke('event-wait', { topic: 'seen', queue: 'road', timeout: 20_000 }),
      )
      assert.deepEqual(seen[0].data, { id, n: 1 })
      const events = Object(
        await suite.daemon.invoke('event-wait', {
          topic: 'gateway-message',
          queue: 'watchers',
          timeout: 20_000,
        }),
      )
      assert.equal(events[0].type, 'webhook')
      assert.equal(events[0].source, 'demo')
      assert.equal(events[0].data.messageId, id)
      assert.deepEqual(events[0].data.body, { record: true, n: 1 })
      const received = Object(
        await suite.daemon.invoke('gateway-receive', { gateway: 'demo', timeout: 20_000 }),
      )
      assert.equal(received.id, id)
      assert.equal(await suite.daemon.invoke('gateway-receive', { gateway: 'demo', timeout: 0 }), null)
    })

    test('respond: result answers with the result of the skill', async () => {
      const answer = await suite.daemon.post('/hooks/ask', 'what?', { 'content-type': 'text/plain' })
      assert.equal(answer.status, 200)
      assert.match(JSON.stringify(Object(answer.body).reply), /what\?/)
      const said = async () => (await suite.site.run(['history', '--channel', 'ask'])).out
      await until(
        async () => /\twhat\?\n(?:.*\n)*.*\t.*what\?/.test(await said()),
        'question and answer in the history',
      )
    })

    test('a failing skill results in a dead letter with all errors, which can be retried', async () => {
      const { id } = await accept({ fail: true })
      const deadLetter = () =>
        until(() => suite.daemon.invoke('dead-letter-show', { id }).catch(() => undefined), 'a dead letter')
      const { errors, message } = Object(await deadLetter())
      assert.deepEqual([errors.length, message.id], [2, id])
      assert.match(errors[1].message, /I always fail/)
      await suite.daemon.invoke('dead-letter-retry', { id })
      await deadLetter()
      const { history } = Object(await suite.daemon.invoke('message-show', { id }))
      const dead = Object.values(history).filter((note) => Object(note).what === 'dead')
      assert.equal(dead.length, 2)
    })

    test('message-show has the acceptance of a message, its lease, and the groups that have read it', async () => {
      const { invoke } = suite.daemon
      const topic = 'gateway-message'
      for (const queue of ['reader', 'sleeper']) await invoke('event-subscribe', { topic, queue })
      const { id } = await accept({ record: true })
      const show = async () => Object(await invoke('message-show', { id }))
      const groups = async () =>
        Object.fromEntries((await show()).events.map((one: object) => Object.values(one)))
      assert.equal((await groups()).reader, 'waiting')
      await invoke('event-wait', { topic, queue: 'reader' })
      const { reader, sleeper } = await groups()
      assert.deepEqual([reader, sleeper], ['read', 'waiting'])

      const { history, receive } = await show()
      assert.deepEqual(
        [history[0].what, history[0].detail.gateway, receive],
        ['accepted', 'demo', { state: 'waiting' }],
      )
      assert.ok(history[0].detail.from)
      // The conversation of a webhook message is its id.
      const { receipt } = Object(await invoke('gateway-receive', { conversation: id, lease: 60_000 }))
      const leased = (await show()).receive
      assert.deepEqual([leased.state, leased.by], ['leased', 'http control'])
      assert.ok(leased.until > Date.now())
      await invoke('gateway-ack', { receipt })
      assert.equal((await show()).receive.state, 'acknowledged')
    })

    test('a WebSocket client gets an ack, and one reply in its conversation', async () => {
      const clients = await Promise.all(['a1', 'a2', 'a3'].map(() => suite.daemon.chat()))
      for (const [n, { send }] of clients.entries()) send({ id: `a${n}`, text: `hello ${n}` })
      for (const [n, { next, all, close }] of clients.entries()) {
        const [ack, reply] = [await next('ack'), await next('message')]
        close()
        assert.equal(ack.id, `a${n}`)
        assert.equal(reply.inReplyTo, ack.messageId)
        assert.ok(String(reply.text).includes(`hello ${n}`))
        assert.deepEqual([reply.seq, all('message').length], [1, 1])
      }
    })
  })
}
