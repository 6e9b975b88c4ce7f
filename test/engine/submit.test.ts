import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Submission } from '../../src/core/message.ts'
import type { Reply } from '../../src/core/transport.ts'
import { createDispatch } from '../../src/engine/dispatch.ts'
import type { Dispatch } from '../../src/engine/dispatch-options.ts'
import { createOutbox } from '../../src/engine/outbox.ts'
import { createOutboxWorker } from '../../src/engine/outbox-worker.ts'
import { createRouter } from '../../src/engine/router.ts'
import { createReplyLog, isLogTarget, submit } from '../../src/engine/submit.ts'
import { openStore } from '../runtime/support/store.ts'
import { begin, partsOf, routeOf } from './kit.ts'

/** Longest wait for a result (ms). */
const LONG = 20_000

async function stage(
  t: TestContext,
  invoke: (dispatch: Dispatch) => unknown,
  routes = [routeOf({ match: {} })],
) {
  const store = await openStore(t)
  const replies = (gateway: string) => createReplyLog(store, gateway)
  const parts = partsOf(store)
  const outbox = createOutbox(store, Date.now)
  const sender = (reply: Reply) => {
    assert.ok(isLogTarget(reply))
    return { send: () => replies(reply.gateway).append(reply.conversation, reply) }
  }
  begin(t, createOutboxWorker({ ...parts, gateways: () => [], sender, sent() {} }))
  begin(
    t,
    createDispatch({
      ...parts,
      outbox,
      router: createRouter(routes),
      invoke: async (dispatch) => invoke(dispatch),
      clean: (text) => text,
      metrics: { dispatched() {}, unrouted() {}, latency() {} },
    }),
  )
  const submitMessage = (parts: Partial<Submission> = {}) =>
    submit(
      { gateway: 'demo', text: 'hello', wait: LONG, ...parts },
      {
        accept: async (message) => (await store.journal.accept([message]))[0] ?? assert.fail(),
        transportOf: () => 'cli',
        replies,
        store,
        signal: new AbortController().signal,
      },
    )
  return { store, submitMessage }
}

const textsOf = (replies: readonly unknown[]) => replies.map((reply) => Object(reply).text)

describe('a submitted message', () => {
  test('keeps its body, even if that is not its text', async (t) => {
    const bodies: unknown[] = []
    const { submitMessage } = await stage(t, ({ message }) => {
      bodies.push(message.data.body)
    })
    await submitMessage({ data: { format: 'json', body: { action: 'opened' } } })
    await submitMessage({ text: '{"action":"closed"}', data: { format: 'json', body: { action: 'closed' } } })
    assert.deepEqual(bodies, [{ action: 'opened' }, { action: 'closed' }])
  })

  test('gets only its own replies, also in a longer conversation', async (t) => {
    const { submitMessage } = await stage(t, ({ message }) => `reply to ${message.text}`)
    await submitMessage({ conversation: 'c' })
    assert.deepEqual(textsOf((await submitMessage({ conversation: 'c', text: 'two' })).replies), [
      'reply to two',
    ])
  })

  test('with a known key gets the replies to the first message with that key', async (t) => {
    let runs = 0
    const { submitMessage } = await stage(t, () => `run ${++runs}`)
    const first = await submitMessage({ key: 'k' })
    const second = await submitMessage({ key: 'k' })
    assert.deepEqual(
      [second.duplicate, second.id, second.conversation, second.outcome],
      [true, first.id, first.conversation, 'done'],
    )
    assert.deepEqual(textsOf(second.replies), ['run 1'])
    assert.equal(runs, 1)
  })

  test('has the outcome `failed`, `unrouted`, or `done` without replies', async (t) => {
    const failing = await stage(t, () => {
      throw new Error('no')
    }, [routeOf({ match: {}, retry: { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } })])
    assert.equal((await failing.submitMessage()).outcome, 'failed')
    assert.equal((await (await stage(t, () => 'no', [])).submitMessage()).outcome, 'unrouted')
    const silent = await (await stage(t, () => undefined)).submitMessage()
    assert.deepEqual([silent.outcome, silent.replies], ['done', []])
  })

  test('cannot choose the target of its reply', async (t) => {
    const { submitMessage } = await stage(t, () => 'mine')
    const data = { replyTarget: { log: false, url: 'http://elsewhere' }, respond: 'never', other: 1 }
    assert.deepEqual(textsOf((await submitMessage({ data })).replies), ['mine'])
  })
})
