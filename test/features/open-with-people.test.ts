import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { z } from 'zod'
import { openSite } from '../fixtures/daemon.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { startSmtpServer } from '../fixtures/smtp-server.ts'
import { refuseNext, supportGateway } from '../fixtures/support-mail.ts'
import { until } from '../fixtures/until.ts'

const FLAKY = `export default { description: 'fails', run() { throw new Error('the warehouse is away') } }`
const thing = z.object({ kind: z.string(), state: z.string(), error: z.string().optional(), at: z.number() })
const opened = z.object({
  people: z.array(z.object({ identity: z.string(), name: z.string().optional(), open: z.array(thing) })),
})

describe('what is open with people', { timeout: 120_000 }, async () => {
  const smtp = await startSmtpServer()
  const receiver = await serveHttp((_, response) => response.writeHead(422).end())
  after(() => Promise.all([receiver.close(), smtp.close()]))
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, verify: { scheme: none }, from: data.body.email }
  ${supportGateway(smtp)}
subscriptions:
  - name: crm
    url: "${receiver.url}/crm"
    secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
    allow-private: true
    retry: { attempts: 1 }
    match: { text: "*copy*" }
routes:
  - { name: refunds, match: { text: "*refund*" }, skill: echo, reply: none, approval: { title: a refund } }
  - { name: stock, match: { text: "*stock*" }, skill: flaky, retry: { attempts: 9, delay: 1h } }
  - { name: dead, match: { text: "*deadly*" }, skill: flaky, retry: { attempts: 1 } }
  - { name: all, skill: echo }
`,
    skills: { flaky: FLAKY },
  })
  const daemon = await site.start()
  const order = (email: string, text: string) => daemon.post('/shop', JSON.stringify({ email, text }))
  let mails = 0
  const mail = (Email: string, Name: string, text: string) =>
    daemon.post(
      '/mail',
      JSON.stringify({
        MessageID: `mail-${mails++}`,
        FromFull: { Email, Name },
        ToFull: [{ Email: 'support@example.com' }],
        Subject: text,
        TextBody: text,
      }),
    )
  const read = async (args: object = {}) => opened.parse(await daemon.invoke('person-open', args)).people
  const statesOf = async (identity: string) => {
    const [person] = await read({ identity })
    return person?.open.map(({ kind, state }) => `${kind} ${state}`).join(', ')
  }
  const untilOpen = (identity: string, wanted: string) =>
    until(async () => (await statesOf(identity)) === wanted, `${wanted} of ${identity}`)

  test('has dead letters, retries, approvals, and replies and pushes that failed', async () => {
    await order('dead@a.example', 'a deadly order')
    await order('dead@a.example', 'stock of lamps')
    await order('push@b.example', 'a copy for the CRM')
    await order('refund@c.example', 'a refund')
    refuseNext(smtp)
    await mail('reply@d.example', 'Dora Berg', 'where is it?')
    await untilOpen('dead@a.example', 'message dead, message retrying')
    await untilOpen('push@b.example', 'letter push failed')
    await untilOpen('refund@c.example', 'approval approval')
    await untilOpen('reply@d.example', 'conversation not delivered')
    const people = await read()
    assert.deepEqual(people.map(({ identity }) => identity).toSorted(), [
      '*:dead@a.example',
      '*:push@b.example',
      '*:refund@c.example',
      '*:reply@d.example',
    ])
    const waits = people.map(({ open }) => Math.min(...open.map(({ at }) => at)))
    assert.deepEqual(
      waits,
      waits.toSorted((a, b) => a - b),
    )
    assert.equal(people.find(({ identity }) => identity === '*:reply@d.example')?.name, 'Dora Berg')
    assert.match(
      String(people.find(({ identity }) => identity === '*:dead@a.example')?.open[0]?.error),
      /the warehouse is away/,
    )
  })

  test('a conversation whose newest message failed is one thing, and so is one that is taken over', async () => {
    await mail('both@e.example', 'Both', 'a deadly mail')
    await untilOpen('both@e.example', 'conversation dead')
    await mail('held@f.example', 'Hella', 'hello')
    const talk = async () =>
      Object(await daemon.invoke('conversation-list', { sender: 'held@f.example' })).conversations?.[0]
    await until(async () => Boolean((await talk())?.reply), 'the answer')
    const { gateway, conversation } = await talk()
    assert.equal(await statesOf('held@f.example'), undefined)
    await daemon.invoke('conversation-pause', { gateway, conversation, reason: 'I call her' })
    assert.equal(await statesOf('held@f.example'), 'conversation taken over')
  })

  test('who waits is unanswered too if the answer was not delivered', async () => {
    const { out } = await site.run(['person', 'open', '--kind', 'unanswered'])
    assert.match(out, /^reply@d\.example\t/m)
    assert.doesNotMatch(out, /^push@b\.example\t/m)
    const sorted = (await site.run(['person', 'list', '--sort', 'waits'])).out.split('\n')
    const place = (id: string) => sorted.findIndex((line) => line.startsWith(id))
    assert.ok(place('reply@d.example') < place('dead@a.example'), sorted.join('\n'))
  })

  test('an address on one gateway has only what is open there, and the command line lists all', async () => {
    assert.equal(await statesOf('shop:dead@a.example'), 'message dead, message retrying')
    assert.equal(await statesOf('support:dead@a.example'), undefined)
    const { out, code } = await site.run(['person', 'open'])
    assert.equal(code, 0)
    assert.match(out, /dead@a\.example\s+failed/)
    assert.match(out, /push@b\.example\s+failed/)
    const one = await site.run(['person', 'open', 'refund@c.example'])
    assert.match(one.out, /refund@c\.example\s+approval.*a refund/)
    assert.doesNotMatch(one.out, /dead@a/)
    const none = await site.run(['person', 'open', 'nobody@a.example'])
    assert.match(none.out + none.err, /Nothing is open/)
  })

  test('what is being erased is a job, although its answers are gone already', async () => {
    const { job } = Object(await daemon.invoke('person-erase', { identity: 'both@e.example', confirm: true }))
    await until(async () => {
      const state = await statesOf('both@e.example')
      return state === 'job being erased' || state === undefined
    }, 'the job instead of the conversation')
    await until(
      async () => Object(await daemon.invoke('job-show', { id: job.id })).state === 'done',
      'the end',
    )
    assert.equal(await statesOf('both@e.example'), undefined)
  })

  test('an approval asked by mail is open with the address, not with the name in the mail', async () => {
    await mail('one.klein@g.example', 'Gerda Klein', 'a refund, please')
    await mail('other.klein@g.example', 'Gerda Klein', 'a refund for me too')
    for (const address of ['one.klein@g.example', 'other.klein@g.example']) {
      await untilOpen(address, 'approval approval')
      const [person] = await read({ identity: address })
      assert.deepEqual([person?.identity, person?.name], [`*:${address}`, 'Gerda Klein'])
    }
    assert.deepEqual(
      (await read()).filter(({ identity }) => !identity.includes('@')),
      [],
    )
  })

  test('is for operators', async () => {
    const program = await fetch(`${daemon.control}/v1/skills/person-open`, { method: 'POST', body: '{}' })
    assert.equal(program.status, 401)
  })
})
