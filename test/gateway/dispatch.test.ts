import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import { createDispatch, DISPATCH_QUEUE, type Dispatch, resumeDispatch } from '../../src/gateway/dispatch.ts'
import type { Outbox, Sending } from '../../src/gateway/outbox.ts'
import { createSend } from '../../src/gateway/send.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../skills/support/cleanup.ts'
import { createMemoryLog } from '../skills/support/log.ts'
import { openStore } from '../skills/support/store.ts'
import { callOf, newMessage, routeOf, routing } from './kit.ts'

type Stage = Awaited<ReturnType<typeof stage>>

async function stage(
  t: TestContext,
  invoke: (dispatch: Dispatch, stage: { outbox: Pick<Outbox, 'reply'> }) => unknown,
  routes: Route[] = [routeOf()],
) {
  const store = await openStore(t)
  const replies: (Sending & { to: string })[] = []
  const attempts: Dispatch[] = []
  const ended: string[] = []
  const counts: string[] = []
  const outbox: Pick<Outbox, 'reply'> = {
    async reply(message: Message, sending: Sending) {
      const queued = !replies.some(({ key }) => key === sending.key)
      if (queued) replies.push({ ...sending, to: message.id })
      return { id: sending.key, queued }
    },
  }
  const worker = createDispatch({
    store,
    owner: 'me',
    concurrency: 10,
    routes: () => routing(routes),
    async invoke(dispatch) {
      attempts.push(dispatch)
      return invoke(dispatch, { outbox })
    },
    ended: (message) => ended.push(message.id),
    outbox,
    metrics: { dispatched: (route, outcome) => counts.push(`${route} ${outcome}`), latency() {} },
    log: createMemoryLog(),
    now: Date.now,
  })
  worker.start()
  cleanup(t, () => worker.stop(0))
  const accept = async (parts: Partial<NewMessage> = {}) => {
    const [answer] = await store.journal.accept([newMessage(parts)])
    assert.ok(answer)
    return answer.id
  }
  const noted = (id: string, what: string) =>
    until(
      async () => (await store.journal.history(id)).find((note) => note.what === what),
      `${what} of ${id}`,
    )
  return { store, worker, replies, attempts, ended, counts, accept, noted, outbox }
}

describe('dispatch', () => {
  test('runs the first route that fits, once, and sends what the skill returns as the reply', async (t) => {
    const { accept, noted, replies, attempts, ended } = await stage(
      t,
      ({ message, route }) => `${route.name}: ${message.text}`,
      [routeOf({ name: 'never', match: { gateway: ['other'] } }), routeOf({ name: 'first' }), routeOf()],
    )
    const id = await accept()
    await noted(id, 'done')
    assert.deepEqual(replies, [{ key: `${id}:first:0`, text: 'first: hello', to: id }])
    assert.equal(attempts.length, 1)
    assert.deepEqual(ended, [id])
  })

  test('sends the text of an object, and nothing for anything else', async (t) => {
    const results: Record<string, unknown> = {
      object: { text: 'from an object', other: 1 },
      empty: '',
      emptyText: { text: '', attachments: [], data: {} },
      nothing: undefined,
      nil: null,
      number: 7,
      list: ['no'],
      noText: { body: 'no' },
    }
    const { accept, noted, replies } = await stage(t, ({ message }) => results[message.text])
    for (const text of Object.keys(results)) await noted(await accept({ text, conversation: text }), 'done')
    assert.deepEqual(
      replies.map(({ text }) => text),
      ['from an object'],
    )
  })

  test('sends what an object says besides its text, and keeps what is no reply to itself', async (t) => {
    const file = { name: 'a.txt', type: 'text/plain', size: 1, sha256: 'ab', path: 'artifacts/ab/ab' }
    const results: Record<string, unknown> = {
      whole: { text: 'whole', subject: 'On it', attachments: [file], data: { ephemeral: true } },
      silent: { text: '', data: { view: { type: 'modal' } } },
      others: { text: 'others', subject: 7, attachments: 'none', data: { at: 10n }, usage: {} },
    }
    const { accept, noted, replies } = await stage(t, ({ message }) => results[message.text])
    for (const text of Object.keys(results)) await noted(await accept({ text, conversation: text }), 'done')
    const [whole, silent, others] = replies.map(({ key: _key, to: _to, ...rest }) => rest)
    assert.deepEqual([whole, silent], [results.whole, results.silent])
    assert.deepEqual(others, { text: 'others' })
  })

  test('makes a dead letter of a result that would show the buttons of an approval', async (t) => {
    const forged = { text: 'x', data: { approval: { id: 'a1', title: 'harmless' } } }
    const { accept, noted, replies } = await stage(t, () => forged)
    await noted(await accept(), 'dead')
    assert.deepEqual(replies, [])
  })

  test('sends no reply where the route says none', async (t) => {
    const { accept, noted, replies } = await stage(t, () => 'unwanted', [routeOf({ reply: 'none' })])
    await noted(await accept(), 'done')
    assert.deepEqual(replies, [])
  })

  test('sends no second reply where the skill has sent one itself', async (t) => {
    const { accept, noted, replies } = await stage(t, async ({ message, route, sends }, { outbox }) => {
      const send = createSend({
        outbox: {
          reply: outbox.reply,
          sendTo: () => Promise.reject(new Error('no')),
          wait: async () => undefined,
        },
        gateway: () => undefined,
        newKey: () => 'random',
      })
      await send.send({ text: 'by hand' }, callOf({ message, route: route.name, sends }))
      return 'returned'
    })
    await noted(await accept(), 'done')
    assert.deepEqual(
      replies.map(({ text }) => text),
      ['by hand'],
    )
  })

  test('tries again after a failure, with the keys of its sends unchanged, and gives up with every error', async (t) => {
    const { accept, noted, replies, attempts, store, counts, ended } = await stage(
      t,
      async ({ message, attempt, sends }, { outbox }) => {
        await outbox.reply(message, { key: `k${sends.next()}`, text: 'sent before the failure' })
        throw new Error(`failure ${attempt}`)
      },
    )
    const id = await accept()
    await noted(id, 'dead')
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      [1, 2, 3],
    )
    assert.equal(replies.length, 1)
    const letter = await store.jobs.deadLetters.get(id)
    assert.equal(letter?.reason, 'attempts')
    assert.deepEqual(
      letter?.errors.map(({ message }) => message),
      ['failure 1', 'failure 2', 'failure 3'],
    )
    assert.equal(letter?.message?.text, 'hello')
    assert.deepEqual(counts, ['all retry', 'all retry', 'all dead'])
    assert.deepEqual(ended, [id])
  })

  test('does not repeat what can never succeed', async (t) => {
    const { accept, noted, attempts, store } = await stage(t, () => {
      throw new TriviumError('skill_args_invalid', { name: 'work', details: 'x' })
    })
    const id = await accept()
    await noted(id, 'dead')
    assert.equal(attempts.length, 1)
    assert.equal((await store.jobs.deadLetters.get(id))?.reason, 'permanent')
  })

  test('lets a failing message hold its own lane only, and goes on in it after the dead letter', async (t) => {
    const order: string[] = []
    const { accept, noted } = await stage(t, ({ message }) => {
      order.push(message.text)
      if (message.text === 'bad') throw new Error('bad')
    })
    await accept({ text: 'bad' })
    const after = await accept({ text: 'after' })
    const beside = await accept({ text: 'beside', conversation: 'c2' })
    await Promise.all([noted(after, 'done'), noted(beside, 'done')])
    assert.deepEqual(
      order.filter((text) => text !== 'beside'),
      ['bad', 'bad', 'bad', 'after'],
    )
  })

  test('counts an attempt whose process died, and gives up without another run once they are used up', async (t) => {
    const { accept, noted, attempts, store, worker, ended } = await stage(t, () => 'never', [
      routeOf({ retry: { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } }),
    ])
    await worker.stop(0)
    const id = await accept()
    const { cursor, messages } = await store.journal.unpumped(1)
    const job = { id, lane: 'demo/c1', group: 'all', messageId: id }
    await store.journal.pumped(cursor, messages[0]?.position ?? 0, [job])
    // A holder that dies: its claim runs out.
    await store.jobs.claim(DISPATCH_QUEUE, { max: 1, lease: 1, owner: 'dead' })
    const next = createDispatch({
      store,
      owner: 'next',
      concurrency: 1,
      routes: () => routing([routeOf({ retry: { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } })]),
      invoke: async () => attempts.push(),
      ended: (one) => ended.push(one.id),
      outbox: { reply: () => Promise.reject(new Error('no')) },
      metrics: { dispatched() {}, latency() {} },
      log: createMemoryLog(),
      now: Date.now,
    })
    next.start()
    cleanup(t, () => next.stop(0))
    await noted(id, 'dead')
    assert.equal(attempts.length, 0)
    assert.match((await store.jobs.deadLetters.get(id))?.errors[0]?.message ?? '', /died 1 times/)
    assert.deepEqual(ended, [id])
  })

  test('says of a message without a route that it is unrouted, and remembers it for whoever waits', async (t) => {
    const { accept, noted, counts, store } = await stage(t, () => 'no', [])
    await noted(await accept(), 'unrouted')
    assert.deepEqual(counts, [' unrouted'])
    const awaited = await accept({ data: { respond: 'result' } })
    const state = await until(() => store.jobs.state(DISPATCH_QUEUE, awaited), 'the job')
    assert.ok(state)
    await noted(awaited, 'unrouted')
  })

  test('puts a message that waits for an approval aside, and runs it once more per decision', async (t) => {
    let approved = false
    const { accept, noted, store, attempts, replies, ended } = await stage(t, () => {
      if (!approved) throw new TriviumError('approval_pending', { name: 'work', id: 'ap1' })
      return 'approved'
    })
    const id = await accept()
    await noted(id, 'waits for an approval')
    assert.deepEqual([replies.length, ended.length], [0, 0])
    approved = true
    const message = { id, gateway: 'demo', conversation: 'c1' }
    for (const _ of [1, 2]) await resumeDispatch(store, message, 'ap1')
    await noted(id, 'done')
    await until(async () => (await store.jobs.list(DISPATCH_QUEUE, 9)).length === 0, 'an empty queue')
    assert.equal(attempts.length, 2)
    assert.deepEqual(replies, [{ key: `${id}:all:0`, text: 'approved', to: id }])
  })

  test('gives a message back at a drain, with its attempt not counted', async (t) => {
    const aborted = Promise.withResolvers<void>()
    const { accept, worker, store, attempts }: Stage = await stage(
      t,
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            aborted.resolve()
            reject(signal.reason)
          })
        }),
    )
    const id = await accept()
    await until(() => attempts.length === 1, 'the run')
    await worker.stop(0)
    await aborted.promise
    const { jobs } = await store.jobs.claim(DISPATCH_QUEUE, { max: 1, lease: 1000, owner: 'next' })
    assert.deepEqual([jobs[0]?.id, jobs[0]?.failures, jobs[0]?.lost], [id, 0, 0])
  })
})
