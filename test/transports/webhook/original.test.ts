import assert from 'node:assert/strict'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'node:test'
import type { Verify } from '../../../transports/deliveries/verify.ts'
import { withOriginal } from '../../../transports/webhook/keep-original.ts'

function originalOf(url: string, headers: Record<string, string>, verify: Verify) {
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'POST', url })
  Object.assign(request.headers, headers)
  const message = { conversation: 'c', from: { id: 'a' }, text: '', data: {} }
  return Object(
    withOriginal(
      { ...message, gateway: 'hub', transport: 'webhook', attachments: [] },
      request,
      Buffer.from('{}'),
      verify,
    ).data,
  ).original
}

test('the stored original of a delivery has its signatures, but not its secrets', () => {
  const kept = { 'x-hub-signature-256': 'sha256=1', 'idempotency-key': 'k', 'x-request-id': '7' }
  const secret = { authorization: 'Bearer s', 'x-gitlab-token': 's', 'x-api-key': 's', 'x-house': 's' }
  const url = '/hub?token=s&a=1&api%5Fkey=s&signature=ok&a=%20'
  const original = originalOf(
    url,
    { ...kept, ...secret },
    { scheme: 'header', header: 'x-house', secret: ['s'] },
  )
  assert.deepEqual(original.headers, kept)
  assert.equal(original.url, '/hub?token=redacted&a=1&api%5Fkey=redacted&signature=ok&a=%20')
  const withToken = (own: { detached?: boolean; 'body-hash'?: string }) => {
    const token = { header: 'x-house', secret: ['s'], tolerance: 1, detached: false, ...own }
    const verify: Verify = { scheme: 'jwt', 'secret-encoding': 'text', ...token }
    return originalOf('/hub', { 'x-house': 'a.b.c' }, verify).headers
  }
  assert.deepEqual(withToken({}), {})
  for (const own of [{ detached: true }, { 'body-hash': 'sha' }])
    assert.deepEqual(withToken(own), { 'x-house': 'a.b.c' })
  const unverified = originalOf('/hub', { 'x-house': 'blue' }, { scheme: 'none' })
  assert.deepEqual(unverified, { method: 'POST', url: '/hub', headers: { 'x-house': 'blue' }, text: '{}' })
})
