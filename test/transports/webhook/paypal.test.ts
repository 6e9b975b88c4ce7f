import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { CERTIFICATE } from '../../fixtures/sns-signing.ts'
import { json, startWebhook } from './harness.ts'
import { CERT_URL, signedByPaypal, WEBHOOK_ID } from './providers/paypal.ts'

const NOW = Date.UTC(2026, 11, 1)
const BODY = '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","amount":"7.47 €"}'
const realFetch = fetch

/** Starts a gateway for PayPal, with PayPal's hosts in place of the network. */
async function start(t: TestContext, options: object = {}) {
  const fetched: string[] = []
  let isDown = false
  t.mock.method(globalThis, 'fetch', async (address: string | URL, init?: RequestInit) => {
    const { href, hostname } = new URL(String(address))
    if (hostname === '127.0.0.1') return realFetch(address, init)
    fetched.push(href)
    return isDown ? new Response('', { status: 500 }) : new Response(CERTIFICATE)
  })
  const verify = { scheme: 'paypal', 'webhook-id': WEBHOOK_ID, ...options }
  const hook = await startWebhook({ verify }, { now: () => NOW })
  const post = async (headers: Record<string, string>, body = BODY) => {
    const { status, body: answer } = await hook.post(body, { ...json, ...headers })
    return [status, answer.error?.message ?? ''] as const
  }
  return { ...hook, post, fetched, fail: () => (isDown = true) }
}

describe('a webhook gateway for PayPal', () => {
  test('accepts deliveries for each of its webhook ids, and fetches the certificate once', async (t) => {
    const { post, last, fetched } = await start(t, { 'webhook-id': [WEBHOOK_ID, 'WEBHOOK_ID'] })
    assert.deepEqual(await post(signedByPaypal(BODY, NOW - 60_000)), [202, ''])
    const { key, data, from } = last()
    assert.deepEqual(
      [key, data.event, from.verified],
      ['69cd13f0-d67a-11e5-baa3-778b53f4ae55', 'PAYMENT.SALE.COMPLETED', undefined],
    )
    // The same transmission again, and an event of the simulator.
    assert.equal((await post(signedByPaypal(BODY, NOW)))[0], 200)
    const mock = signedByPaypal(BODY, NOW, 'WEBHOOK_ID')
    assert.equal((await post(mock))[0], 200)
    assert.deepEqual(fetched, [CERT_URL])
  })

  test('refuses another body, webhook id, time or certificate URL', async (t) => {
    const { post, store, fetched } = await start(t)
    const good = signedByPaypal(BODY, NOW)
    const elsewhere = [
      'https://api.paypal.com.evil.example/v1/notifications/certs/CERT-1',
      'https://evil.example/v1/notifications/certs/CERT-1',
      'http://api.paypal.com/v1/notifications/certs/CERT-1',
      'https://api.paypal.com@evil.example/v1/notifications/certs/CERT-1',
      'https://api.paypal.com/v1/notifications/certs/../../../redirect?to=evil',
    ]
    for (const [headers, body, reason] of [
      [good, `${BODY} `, /signature does not match/],
      [signedByPaypal(BODY, NOW, 'ANOTHER'), BODY, /signature does not match/],
      [signedByPaypal(BODY, NOW - 2 * 86_400_000), BODY, /s away from now/],
      [{ ...good, 'paypal-transmission-time': 'soon' }, BODY, /not a date/],
      [{ ...good, 'paypal-auth-algo': 'none' }, BODY, /algorithm/],
      [{}, BODY, /paypal-transmission-id is missing/],
      ...elsewhere.map(
        (url) => [{ ...good, 'paypal-cert-url': url }, BODY, /not at an address of PayPal/] as const,
      ),
    ] as const) {
      const [status, message] = await post(headers, body)
      assert.equal(status, 401, message)
      assert.match(message, reason)
    }
    assert.deepEqual([store.acceptCalls, fetched], [0, [CERT_URL]])
  })

  test('answers 503 while the certificate cannot be fetched, so that PayPal tries again', async (t) => {
    const { post, fail } = await start(t)
    fail()
    const [status, message] = await post(signedByPaypal(BODY, NOW))
    assert.equal(status, 503, message)
  })
})
