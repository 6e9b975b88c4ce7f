// Senders that sign without an HMAC: a plain hash over a secret (Starling, Zalo, Lark), or only a
// time (DingTalk).
import assert from 'node:assert/strict'
import { createHash, hash } from 'node:crypto'
import { describe, test } from 'node:test'
import { verify } from '../../../transports/deliveries/verify.ts'
import { json, startWebhook } from './harness.ts'
import { encrypted, LARK_EVENT, signedByLark } from './providers/lark.ts'
import { hmac, SECRET } from './providers/sample.ts'

const NOW = Date.UTC(2026, 11, 1)
const BODY = '{"webhookEventUid":"e1","content":"7.47 €"}'
const starling = {
  scheme: 'hash',
  header: 'X-Hook-Signature',
  algorithm: 'sha512',
  encoding: 'base64',
  template: '{secret}{body}',
}

/** The faults of a `verify` with these options. */
const faults = (options: object) =>
  verify
    .safeParse({ secret: SECRET, header: 'X-Sig', ...options })
    .error?.issues.map(({ message }) => message) ?? []

describe('verify: hash', () => {
  const sum = (text: string, key = SECRET) =>
    createHash('sha512')
      .update(key + text)
      .digest('base64')

  test('takes a hash over the secret and the body, with one of several secrets', async () => {
    const { post, last, store } = await startWebhook({ verify: { ...starling, secret: ['new', SECRET] } })
    for (const key of [SECRET, 'new'])
      assert.equal((await post(BODY, { ...json, 'x-hook-signature': sum(BODY, key) })).status, 202)
    assert.deepEqual(last().from.verified, true)
    for (const signature of [sum(`${BODY} `), sum(BODY, 'other'), sum(BODY, ''), ''])
      assert.equal((await post(BODY, { ...json, 'x-hook-signature': signature })).status, 401)
    assert.equal(store.messages.length, 2)
  })

  test('refuses a longer body whose hash a stranger computed from a known one', async () => {
    const { post, store } = await startWebhook({ verify: { ...starling, secret: SECRET } })
    // An extension has to contain the padding that SHA-512 adds after the secret and the body.
    const length = SECRET.length + Buffer.byteLength(BODY)
    const zeros = 127 - ((length + 16) % 128)
    const bits = Buffer.alloc(16)
    bits.writeBigUInt64BE(BigInt(length * 8), 8)
    const longer = Buffer.concat([
      Buffer.from(BODY),
      Buffer.from([0x80]),
      Buffer.alloc(zeros),
      bits,
      Buffer.from('{"evil":1}'),
    ])
    assert.equal((SECRET.length + longer.length - 10) % 128, 0)
    const signature = createHash('sha512').update(SECRET).update(longer).digest('base64')
    for (const type of ['application/json', 'text/plain; charset=latin1', 'application/octet-stream']) {
      const answer = await post(new Uint8Array(longer), {
        'content-type': type,
        'x-hook-signature': signature,
      })
      assert.deepEqual([answer.status, /not UTF-8/.test(answer.body.error?.message ?? '')], [401, true], type)
    }
    assert.equal(store.messages.length, 0)
  })

  test('needs the secret once, and the body or fields of it', () => {
    assert.match(faults({ scheme: 'hash' }).join(), /\{secret\} once/)
    assert.match(faults({ scheme: 'hash', template: '{secret}{body}{secret}' }).join(), /\{secret\} once/)
    assert.match(faults({ scheme: 'hash', template: '{secret}' }).join(), /\{body\}/)
    assert.match(faults({ scheme: 'hmac', template: '{secret}' }).join(), /\{body\}/)
    assert.deepEqual(faults({ scheme: 'hash', template: '{body.id}{secret}' }), [])
  })
})

describe('a signature that covers a time, but no body (DingTalk)', () => {
  const options = {
    scheme: 'hmac',
    secret: SECRET,
    header: 'sign',
    encoding: 'base64',
    'timestamp-header': 'timestamp',
    template: '{timestamp}\n{secret}',
    tolerance: '1h',
  }
  const signed = (at: number) => ({ timestamp: String(at), sign: hmac(`${at}\n${SECRET}`, 'base64') })

  test('admits the request, but proves nothing in it', async () => {
    const { post, last } = await startWebhook(
      { verify: options, from: 'data.body.senderId', key: 'data.body.msgId' },
      { now: () => NOW },
    )
    assert.equal((await post('{"msgId":"m1","senderId":"ada"}', { ...json, ...signed(NOW) })).status, 202)
    assert.deepEqual(last().from, { id: 'ada' })
    for (const headers of [signed(NOW - 3_601_000), { ...signed(NOW), timestamp: String(NOW - 1) }, {}])
      assert.equal((await post('{}', { ...json, ...headers })).status, 401)
  })
})

describe('a webhook gateway for Lark', () => {
  const start = (secret: unknown = SECRET) =>
    startWebhook({ verify: { scheme: 'lark', secret } }, { now: () => NOW })

  test('decrypts events, and knows their id, sender and chat', async () => {
    const { post, last } = await start(['new', SECRET])
    const body = encrypted(LARK_EVENT)
    assert.equal((await post(body, { ...json, ...signedByLark(body, NOW) })).status, 200)
    const { key, from, conversation, data, text } = last()
    assert.deepEqual([key, from, conversation], ['ev-lark-1', { id: 'ou_ada', verified: true }, 'test:oc_1'])
    assert.deepEqual([data.event, data.body], ['im.message.receive_v1', LARK_EVENT])
    assert.equal(text, JSON.stringify(LARK_EVENT))
    // A repeated delivery may have a signature that is an hour old.
    const again = await post(body, { ...json, ...signedByLark(body, NOW - 3_600_000) })
    assert.equal(again.body.duplicate, true)
  })

  test('gives a challenge back only if it is encrypted with the key', async () => {
    const { post, store } = await start()
    const challenge = { challenge: 'c1', token: 't', type: 'url_verification' }
    for (const body of [
      JSON.stringify(challenge),
      encrypted(challenge, 'other'),
      encrypted({ ...challenge, challenge: '<b>' }),
    ])
      assert.equal((await post(body, json)).status, 401, body)
    assert.equal(store.messages.length, 0)
  })

  test('says what to set if events come signed, but not encrypted', async () => {
    const { post } = await start()
    const body = JSON.stringify(LARK_EVENT)
    const { status, body: answer } = await post(body, { ...json, ...signedByLark(body, NOW) })
    assert.deepEqual([status, /Encrypt Key/.test(answer.error?.message ?? '')], [400, true])
    assert.equal(hash('sha256', body).length, 64)
  })
})
