// The providers of docs/reference/webhook-providers.md without a preset that need more options: every gateway
// accepts a delivery as its provider signs it, and refuses one without a signature.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { webhookOptions } from '../../../transports/webhook/config.ts'
import { startWebhook } from './harness.ts'
import { alerts, type Delivery, dropboxSign, OTHER_SAMPLES } from './providers/others.ts'
import { RECIPE_SAMPLES } from './providers/recipes.ts'
import { hmac, NOW, SECRET, seconds } from './providers/sample.ts'
import { guide, isPreset, providerRows, reference, withStranger, yamlBelow } from './providers/table.ts'

const SAMPLES = OTHER_SAMPLES
const time = seconds(NOW)
/** The deliveries are signed once, when their file is loaded, which can be long before a test. */
const now = () => NOW

const rows = providerRows().filter((row) => !isPreset(row) && !(row.provider in RECIPE_SAMPLES))

test('every provider has a sample, and every sample a provider', () => {
  assert.ok(rows.length > 25)
  assert.deepEqual(rows.map(({ provider }) => provider).sort(), Object.keys(SAMPLES).sort())
})

describe('more providers in docs/reference/webhook-providers.md', () => {
  for (const { provider, verify, hasSecret, options, notes, isCompared } of rows) {
    const sample = SAMPLES[provider]
    if (!sample) continue
    const { secret = SECRET, challenge, userOptions } = sample
    const gateway = { verify: { ...verify, ...(hasSecret && { secret }), ...userOptions }, ...options }
    const start = async (address = 'https://hooks.example.com/') => {
      const hook = await startWebhook(gateway, { now, http: { publicUrl: () => address } })
      const send = async ({ body, headers, query = '' }: Partial<Delivery>) => {
        const all = { 'content-type': 'application/json', ...headers }
        const method = body === undefined ? 'GET' : 'POST'
        const response = await fetch(hook.hook + query, {
          method,
          headers: all,
          ...(body !== undefined && { body }),
        })
        return { status: response.status, text: await response.text(), headers: response.headers }
      }
      return { ...hook, send }
    }

    test(`${provider}: a signed delivery is accepted, and another one refused`, async () => {
      assert.equal(webhookOptions.safeParse({ path: '/hooks/test', ...gateway }).error, undefined)
      const { send, store } = await start()
      const { body, headers, query } = await sample.delivery
      const accepted = await send({
        body,
        ...(headers && { headers }),
        ...(query !== undefined && { query }),
      })
      assert.ok(accepted.status < 300, accepted.text)
      const count = store.messages.length
      assert.ok(count > 0)
      const type = headers?.['content-type']
      const forged = body.replace(dropboxSign.event.event_hash, 'f'.repeat(64))
      const refused = await send({
        body: forged,
        ...(type !== undefined && { headers: { 'content-type': type } }),
      })
      assert.equal(refused.status, 401, refused.text)
      assert.equal(store.messages.length, count)
    })

    test(`${provider}: its marks are right`, async () => {
      const delivery = await sample.delivery
      const { send, store } = await start()
      await send(delivery)
      const { key } = store.messages[0] ?? {}
      assert.equal(notes.includes('no id'), key === undefined, 'the mark "no id"')
      assert.equal(notes.includes('id is a hash'), key?.startsWith('sha256:') === true, 'the mark of a hash')
      const stranger = await start()
      const body = withStranger(delivery.body)
      const isWhole = (await stranger.send({ ...delivery, body })).status === 401
      const isSigned = [store, ...(isWhole ? [] : [stranger.store])].every(
        ({ messages }) => messages.at(-1)?.from.verified,
      )
      assert.equal(notes.includes('sender not verified'), !isSigned, 'the mark "sender not verified"')
      const elsewhere = await start('https://other.example.com/')
      const { status } = await elsewhere.send(delivery)
      assert.equal(notes.includes('signs the address'), status === 401, 'the mark "signs the address"')
      assert.equal(isCompared, sample.comparedWith !== undefined, 'the mark ✓')
    })

    assert.equal('challenge' in gateway, challenge !== undefined, `${provider}: the challenge`)
    if (challenge === undefined) continue
    test(`${provider}: its check is answered, and creates no message`, async () => {
      const { answer, header, ...request } = challenge
      const { send, store } = await start()
      // A check by header comes with an empty delivery.
      const isByHeader = request.headers !== undefined
      const { text, headers } = await send({
        ...(isByHeader && provider !== 'Okta' && { body: '{}' }),
        ...request,
      })
      assert.equal(text, answer)
      if (header) assert.equal(headers.get(header[0]), header[1])
      assert.equal(store.messages.length, 0)
    })
  }
})

test('the second gateway of Fastly answers the check of the host, and accepts no message for it', async () => {
  const { gateways } = parse(yamlBelow(reference, 'Fastly'))
  const { transport, path, enabled: _, ...gateway } = gateways['fastly-challenge']
  assert.deepEqual([transport, path], ['webhook', '/.well-known/fastly/logging/challenge'])
  const { hook, store } = await startWebhook(gateway)
  const response = await fetch(hook)
  assert.deepEqual([response.status, await response.text()], [200, '*'])
  assert.equal(store.messages.length, 0)
})

test('a reminder of Alertmanager is a repetition with the key of the gateway, and a message without it', async () => {
  const row = rows.find(({ provider }) => provider === 'Alertmanager')
  const { key: _, ...keyless } = row?.options ?? {}
  const countAfterReminder = async (options: object) => {
    const { hook, store } = await startWebhook({ verify: { ...row?.verify, secret: SECRET }, ...options })
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${SECRET}` }
    for (const _ of ['alert', 'reminder']) await fetch(hook, { method: 'POST', body: alerts, headers })
    return store.messages.length
  }
  assert.deepEqual([await countAfterReminder(row?.options ?? {}), await countAfterReminder(keyless)], [1, 2])
})

test('GitLab with a signing token: `verify` of the note accepts a delivery once', async () => {
  const [, section = ''] = guide.split('\n### GitLab\n')
  const [, yaml = ''] = /`verify: (\{.*?\})`/s.exec(section) ?? []
  const key = randomBytes(32)
  const verify = { ...parse(yaml), secret: `whsec_${key.toString('base64')}` }
  const { hook, store } = await startWebhook({ verify }, { now })
  const body = JSON.stringify({ object_kind: 'push' })
  const headers = {
    'content-type': 'application/json',
    'x-gitlab-event': 'Push Hook',
    'webhook-id': 'g-1',
    'webhook-timestamp': time,
    'webhook-signature': `v1,${hmac(`g-1.${time}.${body}`, 'base64', 'sha256', key)}`,
  }
  const post = async (sent: string) => (await fetch(hook, { method: 'POST', body: sent, headers })).status
  assert.deepEqual([await post(body), await post(body), await post('{}')], [202, 200, 401])
  assert.deepEqual([store.messages.length, store.messages[0]?.data.event], [1, 'Push Hook'])
})
