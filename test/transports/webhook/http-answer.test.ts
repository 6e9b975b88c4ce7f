import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Json } from '../../../src/core/json.ts'
import { until } from '../../fixtures/until.ts'
import { startWebhook } from './harness.ts'

const reply = (id: string, http: Json) => ({
  key: `${id}:r:0`,
  gateway: 'test',
  conversation: id,
  inReplyTo: id,
  target: { body: hash('sha256', 'question') },
  text: '',
  data: { http },
})

describe('the HTTP response of a skill', () => {
  test('is refused, and not stored, if it cannot be sent unchanged', async () => {
    const { transport, store } = await startWebhook({ respond: 'result' })
    const bad: [http: Json, why: RegExp][] = [
      [{ status: 199 }, /http\.status/],
      [{ status: 101 }, /http\.status/],
      [{ status: 600 }, /http\.status/],
      [{ status: 200.5 }, /http\.status/],
      [{ status: '200' }, /http\.status/],
      ['<p>', /http/],
      [{ headers: { 'Transfer-Encoding': 'chunked' } }, /Transfer-Encoding is set by Trivium/],
      [{ headers: { 'content-LENGTH': 5 } }, /content-LENGTH is set by Trivium/],
      [{ headers: { Connection: 'close' } }, /Connection is set by Trivium/],
      [{ headers: { 'X-Content-Type-Options': 'x' } }, /set by Trivium/],
      [{ headers: { 'X-A': 'b\r\nSet-Cookie: c=d' } }, /no line breaks/],
      [{ headers: { 'X-A': '\u{1f30d}' } }, /Latin-1/],
      [{ headers: { 'X A': 'b' } }, /a header has a name/],
      [{ headers: { 'X-A': 'b'.repeat(9_000) } }, /more than 8192 bytes/],
      [{ status: 204, body: 'x' }, /204 has no body/],
      [{ status: 304, body: { a: 1 } }, /304 has no body/],
      [{ body: 'ü'.repeat(600_000) }, /more than 1048576 bytes/],
      [{ stat: 200 }, /http/],
    ]
    for (const [http, why] of bad) {
      const isRefused = (error: unknown) => {
        const { code, message } = Object(error)
        assert.match(message, why)
        return code === 'send_rejected'
      }
      await assert.rejects(transport.send(reply('m1', http)), isRefused, JSON.stringify(http).slice(0, 80))
    }
    assert.equal(await store.replies.end(`m1 ${hash('sha256', 'question')}`), 0)
  })

  test('is sent again to a redelivery', async () => {
    const hook = await startWebhook({ respond: 'result' })
    const post = () =>
      fetch(hook.hook, { method: 'POST', body: 'question', headers: { 'idempotency-key': 'k' } })
    const answer = post()
    await until(() => hook.store.messages.length > 0, 'the message')
    const http = { status: 402, headers: { 'X-Reason': 'no money', 'x-list': ['1', '2'] }, body: [null] }
    await hook.transport.send(reply(hook.last().id, http))
    for (const response of [await answer, await post()]) {
      assert.deepEqual([response.status, await response.json()], [402, [null]])
      assert.deepEqual(
        [response.headers.get('x-reason'), response.headers.get('x-list')],
        ['no money', '1, 2'],
      )
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    }
  })
})
