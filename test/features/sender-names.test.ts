import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toJSONSchema } from 'zod'
import { type JsonObject, objectsIn } from '../../src/core/json.ts'
import { builtInSkills } from '../../src/daemon/built-in-skills.ts'
import { openSite } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const ZOE = 'zoe@example.com'

/** Operations without people, which need more than a person has open. */
const NOT_CALLED = new Set(['recall', 'search-notes', 'state-wait', 'schedule-show', 'delegation-list'])

describe('the senders in the results of operations', { timeout: 120_000 }, async () => {
  const site = openSite({
    routes: `
gateways:
  shop: { transport: webhook, path: /shop, from: data.body.email, from-name: data.body.name }
  chat: { transport: webhook, path: /chat, from: data.body.email, conversation: data.body.email }
subscriptions:
  - { name: crm, topic: gateway-message, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_${'c2VjcmV0'.repeat(5)} }
routes:
  - { name: broken, match: { gateway: chat, text: "*broken*" }, skill: fail, retry: { attempts: 1 } }
  - { name: refunds, match: { gateway: chat, text: "*refund*" }, skill: refund }
  - { name: held, match: { gateway: chat, text: "*later*" }, skill: echo }
  - { name: all, skill: echo, reply: none }
`,
    skills: {
      fail: `export default { description: 'fails', run() { throw new Error('no lamp') } }`,
      refund: `export default { description: 'Refunds', metadata: { approval: { title: 'Refund' } }, run: () => 'paid' }`,
    },
  })
  const daemon = await site.start()
  const post = (path: string, body: object) => daemon.post(path, JSON.stringify(body), JSON_TYPE)
  await post('/shop', { email: ZOE, name: 'Zoë Lindström' })
  await post('/shop', { email: 'bo@example.com', name: 'Bo', text: `for ${ZOE}` })
  await daemon.invoke('route-pause', { route: 'held', reason: 'a test' })
  for (const text of ['a refund', 'a hello', 'it is broken', 'this is for later'])
    await post('/chat', { email: ZOE, text })
  await until(async () => {
    const { people } = Object(await daemon.invoke('person-open', { identity: ZOE }))
    const kinds = new Set(people[0]?.open.map(({ state }: { state: string }) => state))
    return kinds.has('approval') && kinds.has('paused') && kinds.has('dead')
  }, 'something open of each kind')

  test('have the name that the address has on another gateway, in every operation that reads', async () => {
    const [letter] = objectsIn(await daemon.invoke('dead-letter-list', {}))
    const message = Object(letter?.message)
    const { job } = Object(await daemon.invoke('dead-letter-bulk', { do: 'retry' }))
    const values: JsonObject = {
      ...{ gateway: 'chat', conversation: message.conversation, identity: ZOE, naming: ZOE },
      ...{ topic: 'gateway-message', group: 'crm', event: message.id, ids: [message.id] },
      ...{ route: 'broken', skill: 'fail', key: 'none', job: job?.id },
    }
    const ids: JsonObject = { job: job?.id ?? '', subscription: 'crm' }
    const called: string[] = []
    const nameless: string[] = []
    for (const { name, args, metadata } of builtInSkills) {
      const isRead = Object(metadata?.annotations).readOnlyHint === true || name === 'message-erase'
      if (!isRead || NOT_CALLED.has(name)) continue
      const { required = [], properties = {} } = Object(
        toJSONSchema(args, { io: 'input', unrepresentable: 'any' }),
      )
      const id = ids[String(name.split('-')[0])] ?? (name === 'dead-letter-show' ? letter?.id : message.id)
      const own =
        name === 'person-show' ? { mentions: true } : name === 'message-erase' ? { naming: ZOE } : {}
      const given = required.map((key: string) => [
        key,
        key === 'id' ? id : key === 'name' ? (Object.hasOwn(ids, name) ? id : 'crm') : values[key],
      ])
      const wide = Object.hasOwn(properties, 'status') ? { status: 'pending' } : {}
      const result = await daemon
        .invoke(name, { ...Object.fromEntries(given), ...wide, ...own })
        .catch(({ code }: { code?: string }) => ({ code: String(code) }))
      called.push(`${name} ${Object(result).code ?? ''}`)
      for (const sender of namelessIn(result)) nameless.push(`${name}: ${JSON.stringify(sender)}`)
    }
    assert.deepEqual(nameless, [], 'add the service to OF_SENDERS of src/daemon/with-names.ts')
    assert.deepEqual(
      called.filter((each) => each.includes('skill_args_invalid')),
      [],
      'give them arguments here',
    )
  })
})

/** Fields with what others sent or asked for. */
const CONTENT = new Set(['data', 'args'])

/** The senders of messages in a value whose address has a name elsewhere, but not here. */
function namelessIn(value: unknown, key = ''): unknown[] {
  if (typeof value !== 'object' || value === null || CONTENT.has(key)) return []
  const { gateway, from, sender } = Object(value)
  const isSender = typeof from === 'object' ? from?.name === undefined : sender !== undefined
  const isNameless = gateway !== undefined && isSender && JSON.stringify(from ?? '').includes(ZOE)
  const below = Object.entries(value).flatMap(([each, field]) => namelessIn(field, each))
  return isNameless ? [from, ...below] : below
}
