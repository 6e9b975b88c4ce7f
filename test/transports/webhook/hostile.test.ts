import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { encodeMessage } from '../../../src/core/message.ts'
import { webhook } from '../../../transports/webhook/index.ts'
import fc from '../../fixtures/fast-check.ts'
import { until } from '../../fixtures/until.ts'
import { startWebhook } from './harness.ts'

const types = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/plain; charset=utf-16le',
  'application/octet-stream',
  'multipart/form-data; boundary=x',
  ';;;',
]

describe('a webhook gateway', () => {
  test('answers any bytes under any type with 202 or 400, and accepted messages can be stored', async () => {
    const { post, store, logs } = await startWebhook()
    const anything = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.string({ unit: 'binary' }).map((text) => new TextEncoder().encode(text)),
      fc.json({ maxDepth: 8 }).map((text) => new TextEncoder().encode(text)),
    )
    await fc.assert(
      fc.asyncProperty(
        anything,
        fc.option(fc.constantFrom(...types), { nil: undefined }),
        async (bytes, type) => {
          const before = store.messages.length
          const answer = await post(new Uint8Array(bytes), type ? { 'content-type': type } : {})
          const isAccepted = store.messages.length > before
          assert.equal(answer.status, isAccepted ? 202 : 400)
          if (!isAccepted) assert.equal(answer.body.error?.code, 'bad_request')
        },
      ),
      { numRuns: 300 },
    )
    for (const message of store.messages) JSON.stringify([encodeMessage(message), webhook.eventData(message)])
    assert.deepEqual(
      logs.filter((line) => line.level === 'error'),
      [],
    )
  })

  test('bounds the memory of unfinished bodies, accepts small ones meanwhile, and frees it when a sender disconnects', async () => {
    const { hook, post, store, http } = await startWebhook({}, { http: { bodies: 300_000 } })
    const unfinished = request(hook, { method: 'POST', headers: { 'content-length': 250_000 } })
    unfinished.on('error', () => undefined).write('x'.repeat(240_000))
    await until(() => http.connections() === 1, 'the connection')
    // The daemon reads the unfinished body before the ones that come later on other connections.
    assert.equal((await post('small')).status, 202)
    const refused = await post('x'.repeat(250_000))
    assert.deepEqual([refused.status, refused.body.error?.code], [503, 'overloaded'])
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
    unfinished.destroy()
    await until(async () => (await post('x'.repeat(250_000))).status === 202, 'room again')
    assert.equal(store.messages.length, 2)
  })
})
