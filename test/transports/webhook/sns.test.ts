import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, mock, type TestContext, test } from 'node:test'
import MessageValidator from 'sns-validator'
import { CERTIFICATE } from '../../fixtures/sns-signing.ts'
import { until } from '../../fixtures/until.ts'
import { startWebhook } from './harness.ts'
import { NOW } from './providers/sample.ts'
import { CERTIFICATE_URL, SUBSCRIBE_URL, signed, TOPIC } from './providers/sns.ts'

const plain = { 'content-type': 'text/plain; charset=UTF-8' }
const realFetch = fetch
/** Maximum number of certificates that are fetched at a time. */
const MAX_CERTIFICATES = 20

/** Starts a gateway for SNS. Requests to hosts other than 127.0.0.1 are answered by `amazon`. */
async function start(
  t: TestContext,
  options: object = {},
  amazon: (address: URL) => Response | Promise<Response> = ok,
) {
  const fetched: string[] = []
  t.mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
    const url = new URL(String(address))
    if (url.hostname === '127.0.0.1') return realFetch(address, init)
    fetched.push(url.href)
    return amazon(url)
  })
  const hook = await startWebhook({ verify: { scheme: 'sns', topic: TOPIC, ...options } }, { now: () => NOW })
  const post = (message: object) => hook.post(JSON.stringify(message), plain)
  return { ...hook, post, fetched }
}

const ok = ({ pathname }: URL) => new Response(pathname.endsWith('.pem') ? CERTIFICATE : '<ok/>')

/** The address of another certificate; their names are hexadecimal. */
const otherCertificate = (index: number) => CERTIFICATE_URL.replace('0123', `a${index}`.padEnd(4, 'b'))

describe('the signatures of these tests', () => {
  test('are accepted by the library of Amazon', async () => {
    // sns-validator is CommonJS: a mock on the ES module would not reach its `https.get`.
    const https: typeof import('node:https') = createRequire(import.meta.url)('node:https')
    const { EventEmitter } = await import('node:events')
    const get = mock.method(https, 'get', (_: unknown, answered: (response: object) => void) => {
      const response = Object.assign(new EventEmitter(), { statusCode: 200 })
      setImmediate(() => {
        answered(response)
        response.emit('data', Buffer.from(CERTIFICATE))
        response.emit('end')
      })
      return new EventEmitter()
    })
    for (const version of ['1', '2'] as const) {
      for (const message of [signed({}, version), signed({ Type: 'SubscriptionConfirmation' }, version)]) {
        const { promise, resolve } = Promise.withResolvers<Error | null>()
        new MessageValidator().validate({ ...message }, resolve)
        assert.equal(await promise, null)
      }
    }
    get.mock.restore()
  })
})

describe('a webhook gateway for SNS', () => {
  test('accepts both versions of the signature, and fetches the certificate once', async (t) => {
    const { post, store, fetched } = await start(t)
    for (const version of ['1', '2'] as const) {
      const { Subject, ...others } = signed({ MessageId: `with-${version}` }, version)
      // The order of the fields does not matter.
      assert.equal((await post({ ...others, Subject })).status, 200)
      const next = signed({ MessageId: `next-${version}`, Subject: 'Other' }, version)
      assert.equal((await post(next)).status, 200)
    }
    assert.equal(store.messages.length, 4)
    assert.deepEqual(fetched, [CERTIFICATE_URL])
    assert.deepEqual((await post(signed({ MessageId: 'with-1' }))).body.duplicate, true)
  })

  test('refuses messages that are changed, unsigned, old, of another topic, or with a certificate of another host', async (t) => {
    const { post, store, fetched, refused } = await start(t)
    const other = TOPIC.replace('MyTopic', 'Theirs')
    const { host, origin, pathname: path } = new URL(CERTIFICATE_URL)
    const cases: [why: RegExp, message: object][] = [
      [/does not match/, { ...signed(), Message: 'another' }],
      [/does not match/, { ...signed(), Signature: 'AAAA' }],
      [/does not match/, { ...signed({}, '1'), SignatureVersion: '2' }],
      [/another topic/, signed({ TopicArn: other })],
      [/SignatureVersion/, { ...signed(), SignatureVersion: '3' }],
      [/away from now/, signed({ Timestamp: new Date(NOW - 3 * 3_600_000).toISOString() })],
      [/away from now/, signed({ Timestamp: 'yesterday' })],
      [/raw message delivery/, { hello: 'world' }],
      ...[
        `http://${host}${path}`,
        `https://${host}.evil.example${path}`,
        `https://evil.example/https://${host}${path}`,
        `https://${host}@evil.example${path}`,
        `https://me:pw@${host}${path}`,
        `https://${host}:8443${path}`,
        `https://sns.eu-west-1.amazonaws.com${path}`,
        `https://mybucket.s3.amazonaws.com${path}`,
        `${origin}/evil.pem`,
        `${CERTIFICATE_URL}?n=1`,
        `${CERTIFICATE_URL}#1`,
        `${origin}/x/..%2f${path}?a=b`,
        `${origin}/SimpleNotificationService-.pem/../../other`,
        'file:///etc/passwd',
        'not an address',
      ].map((SigningCertURL): [RegExp, object] => [/SigningCertURL/, { ...signed(), SigningCertURL }]),
    ]
    for (const [why, message] of cases) {
      const answer = await post(message)
      assert.equal(answer.status, 401, JSON.stringify(message))
      assert.match(answer.body.error?.message ?? '', why)
    }
    assert.deepEqual([store.messages.length, fetched, refused.length], [0, [CERTIFICATE_URL], cases.length])
  })

  test('confirms subscriptions to its topic, and only at addresses of Amazon', async (t) => {
    const { post, store, fetched } = await start(t)
    const confirm = (SubscribeURL: string) => post(signed({ Type: 'SubscriptionConfirmation', SubscribeURL }))
    assert.equal((await confirm(SUBSCRIBE_URL)).status, 200)
    assert.equal(fetched.at(-1), new URL(SUBSCRIBE_URL).href)
    const count = fetched.length
    for (const address of [
      SUBSCRIBE_URL.replace('https', 'http'),
      SUBSCRIBE_URL.replace('sns.us-east-1.amazonaws.com', '169.254.169.254'),
      SUBSCRIBE_URL.replace('us-east-1.amazonaws', 'us-east-1.amazonaws.evil'),
      SUBSCRIBE_URL.replace('ConfirmSubscription', 'Unsubscribe'),
      SUBSCRIBE_URL.replace('MyTopic', 'Theirs'),
    ]) {
      assert.equal((await confirm(address)).status, 401, address)
    }
    assert.equal(fetched.length, count)
    assert.equal(
      (await post(signed({ Type: 'UnsubscribeConfirmation', SubscribeURL: SUBSCRIBE_URL }))).status,
      200,
    )
    assert.equal(fetched.length, count)
    assert.equal(store.messages.length, 0)
    const manual = await start(t, { confirm: false })
    await manual.post(signed({ Type: 'SubscriptionConfirmation' }))
    assert.equal(manual.last().data.event, 'SubscriptionConfirmation')
  })

  test('answers 503 while Amazon cannot be reached, and asks it once', async (t) => {
    const { post, fetched } = await start(t, {}, () => {
      throw new TypeError('fetch failed')
    })
    const first = await post(signed())
    assert.deepEqual([first.status, first.body.error?.code], [503, 'keys_unavailable'])
    assert.equal((await post(signed())).status, 503)
    assert.equal(fetched.length, 1)
  })

  test('fetches few certificates at a time, as strangers can name many', async (t) => {
    const answered = Promise.withResolvers<void>()
    const { post, fetched } = await start(t, {}, async (address) => {
      await answered.promise
      return ok(address)
    })
    const statuses: number[] = []
    const deliveries = Array.from({ length: 60 }, async (_, index) => {
      const { status } = await post({ ...signed(), SigningCertURL: otherCertificate(index) })
      statuses.push(status)
    })
    await until(() => statuses.length === 60 - MAX_CERTIFICATES, 'the refusals')
    assert.deepEqual([new Set(statuses), fetched.length], [new Set([503]), MAX_CERTIFICATES])
    answered.resolve()
    await Promise.all(deliveries)
    assert.equal(fetched.length, MAX_CERTIFICATES)
  })
})
