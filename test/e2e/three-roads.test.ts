import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { createSite, type DaemonProcess, type Site } from '../fixtures/daemon.ts'
import { type RedisServer, startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'

const ROUTES = `
gateways:
  demo:  { transport: webhook, path: /hooks/demo, verify: { scheme: none } }
  ask:   { transport: webhook, path: /hooks/ask, verify: { scheme: none }, respond: result, timeout: 5s }
  signed: { transport: webhook, path: /hooks/signed, verify: { scheme: bearer, secret: "open-sesame-please" } }
  chat:  { transport: websocket, path: /ws }
routes:
  - name: failing
    match: { gateway: demo, data.body.fail: "true" }
    skill: fail
    retry: { attempts: 2, delay: 10ms }
  - name: slow
    match: { gateway: demo, data.body.slow: "true" }
    skill: record
  - name: silent
    match: { gateway: demo, data.body.quiet: "true" }
    skill: record
  - name: ask
    match: { gateway: ask }
    skill: echo
  - name: chat
    match: { gateway: chat }
    skill: echo
  - name: cli
    match: { gateway: cli }
    skill: talk
`

const SKILLS = {
  fail: `export default { description: 'fails', run() { throw new Error('I always fail') } }`,
  record: `export default { description: 'records', async run(ctx) {
    await ctx.manager.invoke('event-emit', { topic: 'seen', data: { id: ctx.message.id, n: ctx.message.data.body.n ?? null } })
  } }`,
  talk: `export default { description: 'sends two and returns one', async run(ctx) {
    if (ctx.args.text !== 'two') return 'heard: ' + ctx.args.text
    await ctx.manager.invoke('gateway-send', { text: 'first' })
    await ctx.manager.invoke('gateway-send', { text: 'second' })
    return 'not sent, because the skill replied itself'
  } }`,
}

const stores = {
  embedded: { start: async () => undefined },
  redis: { start: () => startRedisServer() },
}

for (const [kind, { start }] of Object.entries(stores)) {
  describe(`three roads from one door, on ${kind}`, { timeout: 120_000 }, () => {
    let redis: RedisServer | undefined
    let site: Site
    let daemon: DaemonProcess

    before(async () => {
      redis = await start()
      site = createSite({ routes: ROUTES, skills: SKILLS, env: redis ? { REDIS_URL: redis.url } : {} })
      daemon = await site.start()
    })
    after(async () => {
      await daemon?.end()
      site?.remove()
      await redis?.stop()
    })

    const accept = async (body: object, path = '/hooks/demo', headers: Record<string, string> = {}) => {
      const answer = await daemon.post(path, JSON.stringify(body), {
        'content-type': 'application/json',
        ...headers,
      })
      return { ...answer, id: String(Object(answer.body).id) }
    }

    test('one message is dispatched, received and seen as an event, and the three do not interfere', async () => {
      await daemon.invoke('event-subscribe', { topic: 'gateway-message', queue: 'watchers' })
      await daemon.invoke('event-subscribe', { topic: 'seen', queue: 'road' })
      const { status, id } = await accept({ quiet: true, n: 1 })
      assert.equal(status, 202)

      const seen = Object(await daemon.invoke('event-wait', { topic: 'seen', queue: 'road', timeout: 5000 }))
      assert.deepEqual(seen[0].data, { id, n: 1 })
      const events = Object(
        await daemon.invoke('event-wait', { topic: 'gateway-message', queue: 'watchers', timeout: 5000 }),
      )
      assert.equal(events[0].type, 'webhook')
      assert.equal(events[0].source, 'demo')
      assert.equal(events[0].data.messageId, id)
      assert.deepEqual(events[0].data.body, { quiet: true, n: 1 })
      const received = Object(await daemon.invoke('gateway-receive', { gateway: 'demo', timeout: 5000 }))
      assert.equal(received.id, id)
      assert.equal(await daemon.invoke('gateway-receive', { gateway: 'demo', timeout: 0 }), null)
    })

    test('the same key is accepted once and answered with the first id', async () => {
      const headers = { 'webhook-id': `msg_${kind}` }
      const first = await accept({ quiet: true }, '/hooks/demo', headers)
      const second = await accept({ quiet: true }, '/hooks/demo', headers)
      assert.equal(first.status, 202)
      assert.equal(second.status, 200)
      assert.deepEqual(second.body, { id: first.id, duplicate: true })
    })

    test('a request without the right credentials gets 401 and is on no road', async () => {
      const refused = await accept({ quiet: true }, '/hooks/signed', { authorization: 'Bearer wrong' })
      assert.equal(refused.status, 401)
      assert.equal(await daemon.invoke('gateway-receive', { gateway: 'signed', timeout: 0 }), null)
      const taken = await accept({ quiet: true }, '/hooks/signed', {
        authorization: 'Bearer open-sesame-please',
      })
      assert.equal(taken.status, 202)
    })

    test('respond: result answers with what the skill said', async () => {
      const answer = await daemon.post('/hooks/ask', 'what?', { 'content-type': 'text/plain' })
      assert.equal(answer.status, 200)
      assert.match(JSON.stringify(Object(answer.body).reply), /what\?/)
    })

    test('a skill that keeps failing makes a dead letter with every error, which can be driven again', async () => {
      const { id } = await accept({ fail: true })
      const letter = await until(
        () => daemon.invoke('dead-letter-show', { id }).catch(() => undefined),
        'a dead letter',
      )
      assert.equal(Object(letter).errors.length, 2)
      assert.match(Object(letter).errors[1].message, /I always fail/)
      assert.equal(Object(letter).message.id, id)
      await daemon.invoke('dead-letter-retry', { id })
      await until(
        () => daemon.invoke('dead-letter-show', { id }).catch(() => undefined),
        'the dead letter again',
      )
      const { history } = Object(await daemon.invoke('message-show', { id }))
      const dead = Object.values(history).filter((note) => Object(note).what === 'dead')
      assert.equal(dead.length, 2)
    })

    test('a WebSocket gets its ack after the message is durable, and the reply in its conversation', async () => {
      const socket = new WebSocket(`${daemon.url.replace('http', 'ws')}/ws`)
      const frames: { type: string; [key: string]: unknown }[] = []
      socket.on('message', (data) => frames.push(JSON.parse(String(data))))
      await new Promise((resolve) => socket.once('open', resolve))
      socket.send(JSON.stringify({ type: 'message', id: 'a1', text: 'hello there' }))
      const ack = await until(() => frames.find((frame) => frame.type === 'ack'), 'the ack')
      const reply = await until(() => frames.find((frame) => frame.type === 'message'), 'the reply')
      socket.close()
      assert.equal(ack.id, 'a1')
      assert.equal(reply.inReplyTo, ack.messageId)
      assert.match(String(reply.text), /hello there/)
      assert.equal(reply.seq, 1)
    })

    test('trivium message cli prints the reply through the running daemon', async () => {
      const { code, out } = await site.run(['message', 'cli', 'hello'])
      assert.equal(out, 'heard: hello\n')
      assert.equal(code, 0)
      const two = await site.run(['message', 'cli', 'two'])
      assert.equal(two.out, 'first\nsecond\n')
    })

    test('event-wait blocks until an event comes, and the command line exits with 4 where none does', async () => {
      const waiting = daemon.invoke('event-wait', { topic: 'later', timeout: 10_000 })
      await until(async () => JSON.stringify(await daemon.get('/v1/status')).length > 0, 'an answer')
      const emitted = Object(await daemon.invoke('event-emit', { topic: 'later', data: { n: 1 } }))
      await daemon.invoke('event-emit', { topic: 'later', data: { n: 2 } })
      const events = Object(await waiting)
      assert.ok([emitted.id].includes(events[0].id) || events[0].data.n === 2)
      const nothing = await site.run(['event-wait', '--topic', 'never', '--timeout', '50'])
      assert.equal(nothing.code, 4)
      assert.equal(nothing.out.trim(), '[]')
    })

    test('a peeked event is returned again until it is acknowledged', async () => {
      await daemon.invoke('event-subscribe', { topic: 'peek', queue: 'q' })
      const { id } = Object(await daemon.invoke('event-emit', { topic: 'peek', data: 1 }))
      const peek = { topic: 'peek', queue: 'q', ack: false, timeout: 0 }
      for (const _ of [1, 2]) assert.equal(Object(await daemon.invoke('event-wait', peek))[0].id, id)
      await daemon.invoke('event-ack', { topic: 'peek', queue: 'q', ids: [id] })
      assert.deepEqual(await daemon.invoke('event-wait', peek), [])
    })

    test('a drain hands back what runs, and a restart loses nothing that was acknowledged', async () => {
      const before = await accept({ quiet: true, n: 'before' }, '/hooks/demo')
      assert.equal(await daemon.end('SIGTERM'), 0)
      daemon = await site.start()
      const { message } = Object(await daemon.invoke('message-show', { id: before.id }))
      assert.equal(message.data.body.n, 'before')
    })
  })
}
