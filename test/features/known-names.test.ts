import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectsIn } from '../../src/core/json.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

describe('the name of a sender', { timeout: 120_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, from: data.body.email, from-name: data.body.name }
  crm: { transport: webhook, path: /crm, from: data.body.by, from-name: data.body.byName }
  chat: { transport: webhook, path: /chat, from: data.body.email, conversation: data.body.email }
routes: [{ name: broken, match: { gateway: chat, text: "*broken*" }, skill: fail, retry: { attempts: 1 } }, { name: refunds, match: { gateway: chat }, skill: refund }, { name: all, skill: echo }]
`,
    skills: {
      fail: `export default { description: 'fails', run() { throw new Error('no lamp') } }`,
      refund: `export default {
  description: 'Refunds', metadata: { approval: { title: 'Refund' } }, run: () => 'paid',
}`,
    },
  })
  const daemon = await site.start()
  const post = (path: string, body: object) => daemon.post(path, JSON.stringify(body), JSON_TYPE)
  await post('/shop', { email: 'zoe@example.com', name: 'Zoë Lindström' })
  await post('/crm', { by: 'U08JC6UV4QF', byName: 'Raúl Peña' })
  await post('/chat', { email: 'Zoe@example.com', text: 'Please refund it.' })
  const broken = { email: 'zoe@example.com', text: 'It is broken.' }
  await post('/chat', broken)
  const pending = async () => objectsIn(await daemon.invoke('approval-list', { status: 'pending' }))
  await until(async () => (await pending()).length === 1, 'a request')

  test('is at the path `from-name`', async () => {
    const [message] = objectsIn(await daemon.invoke('message-list', { gateway: 'crm' }))
    assert.equal(Object(message?.from).name, 'Raúl Peña')
    assert.equal(Object(message?.from).id, 'U08JC6UV4QF')
  })

  test('is known on another gateway by the address', async () => {
    const [listed] = objectsIn(await daemon.invoke('message-list', { gateway: 'chat' }))
    assert.equal(Object(listed?.from).name, 'Zoë Lindström')
    const { messages } = Object(await daemon.invoke('message-search', { gateway: 'chat' }))
    assert.equal(messages[0].from.name, 'Zoë Lindström')
    const { conversations } = Object(await daemon.invoke('conversation-list', { gateway: 'chat' }))
    assert.equal(conversations[0].from.name, 'Zoë Lindström')
    const [request] = await pending()
    assert.equal(Object(request?.message).from, 'Zoë Lindström')
    const { people } = Object(await daemon.invoke('person-open', {}))
    assert.deepEqual([people.length, people[0].name], [1, 'Zoë Lindström'])
  })

  test('is the same in one message, its conversation, dead letters, their causes, and troubles', async () => {
    const letters = async () => objectsIn(await daemon.invoke('dead-letter-list', {}))
    await until(async () => (await letters()).length > 0, 'the dead letter')
    const [letter] = await letters()
    const nameIn = (value: unknown) => Object(Object(value).message).from?.name
    assert.equal(nameIn(letter), 'Zoë Lindström')
    assert.equal(nameIn(await daemon.invoke('dead-letter-show', { id: letter?.id })), 'Zoë Lindström')
    const { id, conversation } = Object(letter?.message)
    assert.equal(nameIn(await daemon.invoke('message-show', { id })), 'Zoë Lindström')
    for (const recovery of [{}, { recovery: true }]) {
      const [cause] = objectsIn(await daemon.invoke('dead-letter-groups', recovery))
      assert.equal(Object(cause?.waits).longest[0].from.name, 'Zoë Lindström')
    }
    const args = { gateway: 'chat', conversation }
    const { entries } = Object(await daemon.invoke('conversation-show', args))
    assert.equal(entries[0].from.name, 'Zoë Lindström')
    const { troubles } = Object(await daemon.invoke('troubles', {}))
    assert.match(JSON.stringify(troubles), /1 person waits, Zoë Lindström since/)
  })
})
