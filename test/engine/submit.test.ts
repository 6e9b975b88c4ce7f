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
      invoke: async (one) => invoke(one),
      metrics: { dispatched() {}, latency() {} },
    }),
  )
  const put = (parts: Partial<Submission> = {}) =>
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
  return { store, put }
}

const textsOf = (replies: readonly unknown[]) => replies.map((reply) => Object(reply).text)

describe('a message put in by hand', () => {
  test('keeps the body that it was given, also one that is not its text', async (t) => {
    const bodies: unknown[] = []
    const { put } = await stage(t, ({ message }) => {
      bodies.push(message.data.body)
    })
    await put({ data: { format: 'json', body: { action: 'opened' } } })
    await put({ text: '{"action":"closed"}', data: { format: 'json', body: { action: 'closed' } } })
    assert.deepEqual(bodies, [{ action: 'opened' }, { action: 'closed' }])
  })

  test('gets only its own replies, also inside a conversation that goes on', async (t) => {
    const { put } = await stage(t, ({ message }) => `heard ${message.text}`)
    await put({ conversation: 'c' })
    assert.deepEqual(textsOf((await put({ conversation: 'c', text: 'two' })).replies), ['heard two'])
  })

  test('with a key that was there already brings back the replies of the first, wherever they went', async (t) => {
    let runs = 0
    const { put } = await stage(t, () => `run ${++runs}`)
    const first = await put({ key: 'k' })
    const second = await put({ key: 'k' })
    assert.deepEqual(
      [second.duplicate, second.id, second.conversation, second.outcome],
      [true, first.id, first.conversation, 'done'],
    )
    assert.deepEqual(textsOf(second.replies), ['run 1'])
    assert.equal(runs, 1)
  })

  test('tells when its skill failed, when no route took it, and when nothing was said', async (t) => {
    const failing = await stage(t, () => {
      throw new Error('no')
    }, [routeOf({ match: {}, retry: { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } })])
    assert.equal((await failing.put()).outcome, 'failed')
    assert.equal((await (await stage(t, () => 'no', [])).put()).outcome, 'unrouted')
    const silent = await (await stage(t, () => undefined)).put()
    assert.deepEqual([silent.outcome, silent.replies], ['done', []])
  })

  test('cannot choose where its reply goes', async (t) => {
    const { put } = await stage(t, () => 'mine')
    const data = { replyTarget: { log: false, url: 'http://elsewhere' }, respond: 'never', other: 1 }
    assert.deepEqual(textsOf((await put({ data })).replies), ['mine'])
  })
})
