import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type DaemonProcess, openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { parsedMail } from '../fixtures/parsed-mail.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { startRoads } from '../fixtures/roads.ts'
import { until } from '../fixtures/until.ts'

const SECRET = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`
const SORRY = 'Sorry, that did not work. Ada looks after it.'
const SKILLS = {
  broken: `export default { description: 'fails', run: ({ args }) => { throw new Error('no luck with ' + args.text) } }`,
  wipe: `export default { description: 'wipes', metadata: { approval: true }, run: () => 'wiped' }`,
}

type Notification = {
  id: string
  text: string
  count: number
  types: string[]
  events: { data: { deadLetterId?: string } }[]
}

/** Starts a receiver of notifications, which checks their signatures. */
async function startReceiver() {
  const notifications: Notification[] = []
  let status = 200
  const { url, close } = await serveHttp(async (request, response) => {
    const body = (await request.toArray()).join('')
    new Webhook(SECRET).verify(body, Object(request.headers))
    if (status === 200) notifications.push({ id: String(request.headers['webhook-id']), ...JSON.parse(body) })
    response.writeHead(status).end()
  })
  after(close)
  return {
    notifications,
    url,
    answerWith(next: number) {
      status = next
    },
  }
}

for (const store of ['embedded', 'redis'] as const) {
  describe(`notifications, ${store}`, { timeout: 600_000 }, async () => {
    const redis = store === 'redis' ? await startRedisServer() : undefined
    after(() => redis?.stop())
    const env: Record<string, string> = redis ? { REDIS_URL: redis.url } : {}
    const setup = await startRoads()
    after(() => setup.close())
    const receiver = await startReceiver()
    const to = `{ url: "${receiver.url}/hook", secret: "${SECRET}", allow-private: true }`
    const site = openSite({
      ownProcess: true,
      routes: `
gateways:${setup.gateways}
  app: { transport: websocket, path: /app, open: true, tokens: { alice: a-long-token-of-alice } }
  away: { transport: email, address: a@example.com, imap: { host: 127.0.0.1, port: 1, tls: none, user: a, pass: b }, smtp: { host: 127.0.0.1, port: 1, tls: none } }
routes:
  - { name: fail, match: { text: "fail*" }, skill: broken, retry: { attempts: 1 }, on-failure: "${SORRY}" }
  - { name: quiet, match: { text: "quiet*" }, skill: broken, retry: { attempts: 1 } }
  - { name: astray, match: { text: "astray*" }, skill: broken, retry: { attempts: 1 } }
  - { name: wipe, match: { text: "wipe*" }, skill: wipe }
  - { name: rest, match: { text: "hello*" }, skill: echo }
notify:
  - { on: [dead-letter], match: { data.where.route: quiet }, to: { gateway: support, to: ops@example.org }, at-most: 1/3s }
  - { on: [approval-waiting, gateway-down], to: { gateway: team, to: C0OPS }, at-most: off }
  - { on: dead-letter, match: { data.where.route: quiet }, to: ${to}, at-most: off }
  - { on: dead-letter, match: { data.where.route: astray }, to: { gateway: app, to: "app:alice:notes" }, at-most: off }
`,
      skills: SKILLS,
      env,
    })
    let daemon: DaemonProcess = await site.start()
    const mails = async () =>
      Promise.all(setup.smtp.taken.filter(({ to }) => to.includes('ops@example.org')).map(parsedMail))
    const letters = async () => {
      const found = await daemon.invoke('dead-letter-list', { queue: 'dispatch', group: 'quiet', limit: 500 })
      return (Array.isArray(found) ? found : []).map(({ id }) => String(id))
    }
    const submit = (text: string) =>
      fetch(`${daemon.control}/v1/messages`, {
        method: 'POST',
        headers: { authorization: `Bearer ${daemon.token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ gateway: 'cli', text, conversation: text }),
      })

    test('a sender is answered once on every transport when their message becomes a dead letter', async () => {
      for (const road of await setup.roads(daemon)) {
        const expectReply = await road.say(`fail on ${road.name}`)
        await expectReply(/Sorry, that did not work/)
      }
      const answers = setup.slack.posts.filter(({ text }) => text.includes('Sorry'))
      assert.equal(answers.length, 1)
      await daemon.end('SIGKILL')
      daemon = await site.start()
      for (const road of await setup.roads(daemon)) await (await road.say('hello again'))(/hello again/)
      assert.equal(setup.slack.posts.filter(({ text }) => text.includes('Sorry')).length, 1)
      const bodies = await Promise.all(setup.smtp.taken.map(parsedMail))
      assert.equal(bodies.filter(({ text }) => text?.includes('Sorry')).length, 1)
    })

    test('automatic mail is not answered', async () => {
      const before = setup.smtp.taken.length
      await setup.mail([
        'From: Robot <robot@example.net>',
        'To: bot@example.com',
        'Subject: fail',
        'Message-ID: <auto-1@example.net>',
        'Auto-Submitted: auto-generated',
        '',
        'fail please',
      ])
      const dead = () => daemon.invoke('message-search', { sender: 'robot@', outcome: 'dead' })
      await until(async () => Object(await dead()).messages?.length === 1, 'the dead letter')
      const id = String(Object(await dead()).messages[0].id)
      const history = async () => JSON.stringify(await daemon.invoke('message-show', { id }))
      await until(async () => (await history()).includes('not sent'), 'a note that no answer was sent')
      assert.equal(setup.smtp.taken.length, before)
    })

    test('a dead letter is notified by mail, by POST, and on the topic for operators', async () => {
      await daemon.invoke('event-subscribe', { topic: 'trivium-operations', queue: 'ops' })
      await submit('quiet one')
      const mail = await until(async () => (await mails())[0], 'a mail')
      assert.match(mail.subject ?? '', /\[Trivium\] Dead letter: route quiet failed/)
      assert.match(mail.text ?? '', /no luck with quiet one[\s\S]*trivium dead-letter show/)
      const { count, types, text } = await until(() => receiver.notifications[0], 'a POST')
      assert.deepEqual([count, types], [1, ['dead-letter']])
      assert.match(text, /no luck with quiet one/)
      assert.equal(text.split('route quiet failed').length, 2, text)
      const events = await daemon.invoke('event-wait', {
        topic: 'trivium-operations',
        queue: 'ops',
        timeout: 30_000,
      })
      assert.partialDeepStrictEqual(events, [
        { type: 'dead-letter', source: 'trivium', data: { severity: 'error', where: { route: 'quiet' } } },
      ])
      await assert.rejects(
        daemon.invoke('event-emit', { topic: 'trivium-operations', data: 1 }),
        /topic_reserved/,
      )
    })

    test('a gateway that is down and a request for an approval are notified in Slack, each once', async () => {
      await submit('wipe it')
      const posted = (what: RegExp) =>
        setup.slack.posts.filter(({ channel, text }) => channel === 'C0OPS' && what.test(text))
      await until(() => posted(/Approval needed/).length > 0, 'the approval')
      await until(() => posted(/Gateway away does not work/).length > 0, 'the gateway')
      await daemon.end('SIGKILL')
      daemon = await site.start()
      await submit('wipe more')
      await until(() => posted(/Approval needed/).length > 1, 'the next approval')
      assert.deepEqual([posted(/Approval needed/).length, posted(/Gateway away/).length], [2, 1])
    })

    test('notifications within at-most are sent together, with their number', async () => {
      const before = (await mails()).length
      for (let n = 0; n < 12; n++) await submit(`quiet ${n}`)
      const counts = async () =>
        (await mails()).slice(before).map(({ text = '' }) => Number(/\((\d+) times\)/.exec(text)?.[1] ?? 1))
      await until(
        async () => (await counts()).reduce((sum, count) => sum + count, 0) === 12,
        '12 in all',
        30_000,
      )
      assert.ok((await counts()).length <= 4, `${(await counts()).length} mails`)
    })

    test('nothing is lost or sent twice when the daemon is killed repeatedly', async () => {
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 8; n++) await submit(`quiet kill ${round} ${n}`)
        await until(
          async () => receiver.notifications.some(({ text }) => text.includes(`kill ${round} `)),
          'some',
          30_000,
        )
        await daemon.end('SIGKILL')
        daemon = await site.start()
      }
      // One with the topic, twelve that were sent together (both of tests above), and these.
      await until(async () => (await letters()).length === 1 + 12 + 3 * 8, 'all letters')
      const all = await letters()
      const ids = () =>
        new Map(
          receiver.notifications.flatMap(({ id, events }) =>
            events.map(({ data }) => [data.deadLetterId, id]),
          ),
        )
      await until(() => all.every((id) => ids().has(id)), 'all notifications')
      // A POST whose answer was lost in a kill is repeated with the same id.
      const seen = new Map<string, Set<string>>()
      for (const { id, events } of receiver.notifications)
        for (const { data } of events)
          seen.set(String(data.deadLetterId), (seen.get(String(data.deadLetterId)) ?? new Set()).add(id))
      assert.deepEqual(
        [...seen].filter(([, under]) => under.size > 1),
        [],
      )
    })

    test('a notification to a conversation becomes a dead letter before a client has opened it, and arrives afterwards', async () => {
      await submit('astray one')
      const lost = async () =>
        Object(await daemon.invoke('dead-letter-list', { queue: 'outbox', group: 'app' }))
      const letters = await until(async () => {
        const found = await lost()
        return found.length > 0 && found
      }, 'the dead letter of the notification')
      assert.match(letters[0].id, /^outbox:notify:/)
      assert.match(JSON.stringify(letters[0]), /conversation_not_found/)
      const send = () =>
        daemon.invoke('gateway-send', { gateway: 'app', to: 'app:alice:notes', text: 'hi', key: 'astray' })
      await assert.rejects(send(), /conversation_not_found/)
      const client = new WebSocket(
        `${daemon.url.replace('http', 'ws')}/app?conversation=notes&token=a-long-token-of-alice`,
      )
      after(() => client.close())
      const frames: string[] = []
      client.addEventListener('message', ({ data }) => frames.push(String(data)))
      await until(() => frames.some((frame) => frame.includes('app:alice:notes')), 'the welcome frame')
      await submit('astray two')
      await until(() => frames.some((frame) => frame.includes('no luck with astray two')), 'the notification')
      assert.equal((await lost()).length, 1)
    })

    test('a notification that fails is listed as a problem, and causes no notification', async () => {
      // Standard Webhooks: the receiver is gone.
      receiver.answerWith(410)
      await submit('quiet and gone')
      const found = await until(
        async () => {
          const { result } = Object(await daemon.get('/v1/troubles'))
          return result.troubles.find((one: object) => Object(one).code === 'subscription-down')
        },
        'a trouble',
        60_000,
      )
      assert.match(found.where.subscription, /^notify-/)
      const events = await daemon.invoke('event-wait', {
        topic: 'trivium-operations',
        queue: 'ops',
        timeout: 3_000,
      })
      assert.doesNotMatch(JSON.stringify(events), /notify-/)
      receiver.answerWith(200)
    })
  })
}
