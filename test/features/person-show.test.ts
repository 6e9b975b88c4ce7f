import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { z } from 'zod'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

const text = z.object({
  text: z.string(),
  gateway: z.string(),
  answers: z.array(z.object({ text: z.string(), state: z.string(), by: z.string().optional() })),
  answeredWith: z.string().optional(),
  settled: z.object({ reason: z.string() }).optional(),
})
const shown = z.object({
  names: z.array(z.string()),
  messages: z.number(),
  gateways: z.record(z.string(), z.number()),
  conversations: z.number(),
  texts: z.number(),
  wrote: z.array(text),
  events: z.object({
    count: z.number(),
    gateways: z.record(z.string(), z.number()),
    newest: z.array(z.object({ gateway: z.string() })),
  }),
  pushes: z.array(z.object({ name: z.string(), count: z.number(), replayed: z.number().optional() })),
})
const subscriptions = z.array(z.object({ queued: z.number(), unread: z.number() }))
const counts = z.object({ open: z.record(z.string(), z.number()) })
const opened = z.object({
  people: z.array(
    z.object({
      open: z.array(z.object({ kind: z.string(), state: z.string() })),
    }),
  ),
})
const ADA = 'ada@a.example'
/** More messages than a push takes into its queue while its receiver fails. */
const COPIES = 40

describe('what a person wrote', { timeout: 120_000 }, async () => {
  let isErpUp = true
  let received = 0
  const smtp = await startSmtpServer()
  const receiver = await serveHttp((request, response) => {
    const isAccepted = request.url === '/erp' && isErpUp
    if (isAccepted) received++
    response.writeHead(isAccepted ? 204 : 503).end()
  })
  after(() => Promise.all([receiver.close(), smtp.close()]))
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  desk: { transport: websocket, path: /desk, open: true }
  ${supportGateway(smtp)}
subscriptions:
  - name: crm
    url: "${receiver.url}/crm"
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    allow-private: true
    match: { text: "*copy*" }
  - name: erp
    url: "${receiver.url}/erp"
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    allow-private: true
    match: { text: "*invoice*" }
routes:
  - { name: quiet, match: { prefix: quiet }, skill: echo, reply: none }
  - { name: all, skill: echo }
`,
  })
  const daemon = await site.start()
  const order = (order: number, text = '') =>
    daemon.post('/shop', JSON.stringify({ email: ADA, order, ...(text && { note: text }) }))
  const say = (text: string, conversation = 'of-ada') =>
    site.run(['message', 'desk', text, '--from', ADA, '--conversation', conversation, '--wait', '10s'])
  const show = async (args: object = {}) =>
    shown.parse(await daemon.invoke('person-show', { identity: ADA, ...args }))
  const mail = {
    MessageID: 'one',
    FromFull: { Email: ADA, Name: 'Ada Berg' },
    ToFull: [{ Email: 'support@example.com' }],
    Subject: 'Where is it?',
    TextBody: 'my parcel',
  }
  for (const number of [1, 2, 3, 4]) await order(number)
  await daemon.post('/mail', JSON.stringify(mail))
  await until(async () => (await show()).wrote[0]?.answers[0]?.state === 'sent', 'the answer to the mail')

  test('has the texts with their answers, and apart from them the events of machines', async () => {
    const { wrote, events, ...person } = await show()
    assert.deepEqual(person, {
      names: ['Ada Berg'],
      messages: 5,
      gateways: { support: 1, shop: 4 },
      conversations: 5,
      texts: 1,
      pushes: [],
    })
    assert.deepEqual(
      wrote.map(({ text, answers }) => [text, answers.map(({ text, by }) => `${by}: ${text}`)]),
      [['my parcel', ['route all: You said: my parcel']]],
    )
    assert.deepEqual([events.count, events.gateways, events.newest.length], [4, { shop: 4 }, 3])
  })

  test('says what needs no answer of its own', async () => {
    await say('quiet one')
    await say('and this?')
    await say('quiet two', 'other')
    await daemon.invoke('conversation-settle', {
      gateway: 'desk',
      conversation: 'other',
      reason: 'called her',
    })
    const { wrote, texts } = await show({ limit: 3 })
    assert.equal(texts, 4)
    const [settled, answered, before] = wrote
    assert.equal(settled?.settled?.reason, 'called her')
    assert.deepEqual([answered?.text, answered?.answers.length], ['and this?', 1])
    assert.deepEqual([before?.text, typeof before?.answeredWith], ['quiet one', 'string'])
  })

  test('a page of one gateway has the name that another one knows', async () => {
    const { names, messages } = await show({ identity: `shop:${ADA}` })
    assert.deepEqual([names, messages], [['Ada Berg'], 4])
  })

  test('messages that pushes have not delivered are counted, those that no push has read too', async () => {
    for (let number = 0; number < COPIES; number++) await order(100 + number, 'a copy')
    const push = async () => subscriptions.parse(await daemon.invoke('subscription-list', {}))[0]
    await until(async () => Number((await push())?.queued) > 0, 'the first attempt')
    assert.ok(Number((await push())?.unread) > 0, 'some were not read')
    assert.deepEqual((await show()).pushes, [{ name: 'crm', count: COPIES }])
    // Nobody waits for a push.
    assert.deepEqual(opened.parse(await daemon.invoke('person-open', { identity: ADA })).people, [])
    const counted = counts.parse(await daemon.invoke('person-count', { identity: ADA }))
    assert.equal(counted.open.pushes, COPIES)
  })

  test('what a replay sends again is told from what a push has not delivered', async () => {
    const erp = async () => (await show()).pushes.find(({ name }) => name === 'erp')
    await order(200, 'an invoice')
    await until(async () => received === 1 && (await erp()) === undefined, 'the delivery')
    isErpUp = false
    await daemon.invoke('subscription-replay', { name: 'erp' })
    await until(async () => (await erp())?.replayed === 1, 'the replay')
    assert.deepEqual(await erp(), { name: 'erp', count: 1, replayed: 1 })
    const out = await until(async () => {
      const { out } = await site.run(['person', 'show', ADA])
      return /the push is failing/.test(out) ? out : undefined
    }, 'the first failures')
    assert.match(out, /^ {2}1 message waits to be sent again to erp by a replay, for /m)
    assert.match(out, /^ {2}\d+ messages wait to be sent to crm, for .+: the push is failing: .*503$/m)
    assert.doesNotMatch(out, /Nothing is open/)
    assert.doesNotMatch(out, /sent to erp/)
    const counted = counts.parse(await daemon.invoke('person-erase', { identity: ADA }))
    assert.deepEqual([counted.open['pushes again'], counted.open.pushes], [1, COPIES])
  })
})
