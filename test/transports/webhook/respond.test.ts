import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { until } from '../../fixtures/until.ts'
import { startWebhook } from './harness.ts'

const result = { respond: 'result' }
const replyTo = (messageId: string, text: string) => ({
  key: `${messageId}:r:0`,
  gateway: 'test',
  conversation: messageId,
  inReplyTo: messageId,
  target: { body: hash('sha256', 'question') },
  text,
})

/** Posts, and resolves with the id of the message and the answer, which is still open. */
async function begin(hook: Awaited<ReturnType<typeof startWebhook>>, key?: string) {
  const count = hook.store.acceptCalls
  const answer = hook.post('question', key ? { 'idempotency-key': key } : {})
  await until(() => hook.store.acceptCalls > count && hook.store.messages.length > 0, 'the message')
  return { answer, id: hook.last().id }
}

describe('respond: result', () => {
  test('answers 200 with the reply, which another daemon may send', async () => {
    const store = createMemoryStore()
    const here = await startWebhook(result, { store })
    const there = await startWebhook(result, { store })
    const { answer, id } = await begin(here)
    assert.equal(here.last().data.respond, 'result')
    await there.transport.send(replyTo(id, 'the answer'))
    store.settle(id, 'done')
    const { status, body } = await answer
    assert.deepEqual([status, body], [200, { id, reply: 'the answer' }])
  })

  test('answers 200 if the reply arrives just after the outcome', async () => {
    const hook = await startWebhook(result)
    const { answer, id } = await begin(hook)
    hook.store.settle(id, 'done')
    await new Promise(setImmediate)
    await hook.transport.send(replyTo(id, 'late'))
    assert.equal((await answer).body.reply, 'late')
  })

  test('answers 202 if the message failed, has no route, or takes too long', async () => {
    const quick = await startWebhook({ ...result, timeout: '50ms' })
    // A skill that failed ends the request itself.
    const patient = await startWebhook(result)
    for (const outcome of ['failed', 'unrouted', undefined] as const) {
      const hook = outcome === 'failed' ? patient : quick
      const { answer, id } = await begin(hook)
      if (outcome) hook.store.settle(id, outcome)
      const { status, body } = await answer
      assert.deepEqual([status, body], [202, { id }], String(outcome))
    }
    assert.deepEqual(patient.notes, [])
    const detail = { reason: 'no reply within 50ms' }
    const notes = quick.store.messages.map(({ id: messageId }) => ({
      messageId,
      what: 'request ended',
      detail,
    }))
    assert.deepEqual(quick.notes, notes)
  })

  test('the history says that the request ended, also if the wait for the outcome ends first', async () => {
    const hook = await startWebhook({ ...result, timeout: '50ms' })
    hook.deps.settled = async () => undefined
    const { id } = (await hook.post('question')).body
    assert.deepEqual(hook.notes, [
      { messageId: id, what: 'request ended', detail: { reason: 'no reply within 50ms' } },
    ])
  })

  test('answers a duplicate with the newest reply, but not another body with the same key', async () => {
    const hook = await startWebhook(result)
    const first = await begin(hook, 'k')
    await hook.transport.send(replyTo(first.id, 'the answer'))
    await first.answer
    const { status, body } = await hook.post('question', { 'idempotency-key': 'k' })
    assert.deepEqual([status, body], [200, { id: first.id, duplicate: true, reply: 'the answer' }])
    await hook.transport.send({ ...replyTo(first.id, 'what came later'), key: `${first.id}:r:1` })
    const again = await hook.post('question', { 'idempotency-key': 'k' })
    assert.equal(again.body.reply, 'what came later')
    hook.store.settle(first.id, 'failed')
    const guessed = await hook.post('another question', { 'idempotency-key': 'k' })
    assert.deepEqual([guessed.status, guessed.body], [200, { id: first.id, duplicate: true }])
  })

  test('answers 202 if replies cannot be read, since the message is durable', async () => {
    const hook = await startWebhook(result)
    hook.deps.replies.read = () => Promise.reject(new Error('away'))
    const { answer, id } = await begin(hook)
    assert.deepEqual((await answer).body, { id })
    assert.ok(hook.logs.some((line) => line.level === 'warn'))
  })

  test('stops listening for the reply when the sender hangs up', async () => {
    const hook = await startWebhook(result)
    let listeners = 0
    const { onAppend } = hook.store.replies
    hook.deps.replies.onAppend = (conversation, listener) => {
      const end = onAppend(conversation, listener)
      listeners++
      return () => {
        listeners--
        end()
      }
    }
    const client = request(hook.hook, { method: 'POST' })
    client.on('error', () => undefined)
    client.end('question')
    await until(() => listeners === 1, 'a listener')
    client.destroy()
    await until(() => listeners === 0, 'the end of the listener')
    await until(() => hook.notes.length > 0, 'a note in the history')
    const [note] = hook.notes
    assert.deepEqual([note?.what, note?.detail], ['request ended', { reason: 'the connection was closed' }])
  })

  test('answers 202 when the gateway stops, and the history says that this was the reason', async () => {
    const hook = await startWebhook(result)
    const { answer, id } = await begin(hook)
    await hook.transport.close()
    assert.deepEqual([(await answer).status, (await answer).body], [202, { id }])
    assert.deepEqual(hook.notes, [
      { messageId: id, what: 'request ended', detail: { reason: 'the gateway was stopped' } },
    ])
  })
})

describe('replies of a webhook gateway', () => {
  test('cannot be sent to another target', async () => {
    const hook = await startWebhook()
    const reply = { ...replyTo('m', 'x'), to: 'https://elsewhere.example' }
    await assert.rejects(hook.transport.send(reply), { code: 'send_rejected', retryable: false })
  })
})
