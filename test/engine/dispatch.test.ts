import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import { textAt } from '../../src/core/json.ts'
import type { Message, NewMessage } from '../../src/core/message.ts'
import type { Route } from '../../src/core/route.ts'
import { createDispatch } from '../../src/engine/dispatch.ts'
import type { Dispatch } from '../../src/engine/dispatch-options.ts'
import { DISPATCH_QUEUE, resumeDispatch } from '../../src/engine/dispatch-queue.ts'
import type { Outbox, Sending } from '../../src/engine/outbox.ts'
import { createReplay } from '../../src/engine/replay.ts'
import { createRouter } from '../../src/engine/router.ts'
import { createSend } from '../../src/engine/send.ts'
import { until } from '../fixtures/until.ts'
import { openStore } from '../runtime/support/store.ts'
import { begin, callOf, newMessage, partsOf, routeOf, untilEmpty, untilNoted } from './kit.ts'

async function stage(
  t: TestContext,
  invoke: (dispatch: Dispatch, parts: { outbox: Pick<Outbox, 'reply'> }) => unknown,
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
  const router = createRouter(routes)
  const startWorker = () =>
    begin(
      t,
      createDispatch({
        ...partsOf(store),
        router,
        async invoke(dispatch) {
          attempts.push(dispatch)
          return invoke(dispatch, { outbox })
        },
        ended: (message) => ended.push(message.id),
        clean: (text) => text.replaceAll('s3cr3t', '[secret]'),
        outbox,
        metrics: {
          dispatched: (route, outcome) => counts.push(`${route} ${outcome}`),
          unrouted: (count) => counts.push(`${count} unrouted`),
          latency() {},
        },
      }),
    )
  const accept = async (parts: Partial<NewMessage> = {}) => {
    const [accepted] = await store.journal.accept([newMessage(parts)])
    assert.ok(accepted)
    return accepted.id
  }
  return {
    store,
    routes: router,
    worker: startWorker(),
    startWorker,
    replies,
    attempts,
    ended,
    counts,
    accept,
    untilNoted: (id: string, what: string) => untilNoted(store, id, what),
  }
}

describe('dispatch', () => {
  test('sends the valid fields of a result as a reply, and nothing for other results', async (t) => {
    const file = { name: 'a.txt', type: 'text/plain', size: 1, sha256: 'ab', path: 'artifacts/ab/ab' }
    const complete = { text: 'complete', subject: 'On it', attachments: [file], data: { ephemeral: true } }
    const dataOnly = { text: '', data: { view: { type: 'modal' } } }
    const partlyInvalid = { text: 'x', subject: 7, attachments: 'none', data: { at: 10n } }
    const noReplies = [
      '',
      { text: '', attachments: [], data: {} },
      undefined,
      null,
      7,
      ['no'],
      { body: 'no' },
    ]
    const results: unknown[] = [complete, dataOnly, partlyInvalid, ...noReplies]
    const { accept, untilNoted, replies } = await stage(t, ({ message }) => results[Number(message.text)])
    for (const text of results.keys()) await untilNoted(await accept({ text: String(text) }), 'done')
    const sent = replies.map(({ key: _key, by: _by, to: _to, ...rest }) => rest)
    assert.deepEqual(sent, [complete, dataOnly, { text: 'x' }])
  })

  test('notes why a result that is not empty is no reply, unless the skill sent something else', async (t) => {
    const unusable = [{ invoice: 17 }, { text: 7 }, { http: 'x' }, 7, true, ['no']]
    const empty = [undefined, null, '', { text: '' }]
    const { store, accept, untilNoted } = await stage(t, ({ message, sends }) => {
      if (message.text !== 'sent') return [...unusable, ...empty][Number(message.text)]
      sends.next()
      return { ok: true }
    })
    const noted = async (text: string) => {
      const id = await accept({ text })
      await untilNoted(id, 'done')
      return (await store.journal.history(id)).filter(({ what }) => what === 'no reply').length
    }
    for (const index of unusable.keys()) assert.equal(await noted(String(index)), 1, `result ${index}`)
    for (const index of empty.keys()) assert.equal(await noted(String(unusable.length + index)), 0)
    assert.equal(await noted('sent'), 0)
  })

  test('the history has what a target returned if that is not sent: bounded, and without secrets', async (t) => {
    const results: unknown[] = [
      'a summary with s3cr3t',
      { summary: 'short', at: new Date(0), left: undefined, of: [1, undefined] },
      'x'.repeat(9_000),
      { list: Array.from({ length: 9_000 }, (_, at) => at) },
      { noReply: 'bulk mail' },
      '',
    ]
    const { store, accept, untilNoted } = await stage(t, ({ message }) => results[Number(message.text)], [
      routeOf({ reply: 'none' }),
    ])
    const returned = async (text: string) => {
      const id = await accept({ text })
      await untilNoted(id, 'done')
      const done = (await store.journal.history(id)).find(({ what }) => what === 'done')
      return textAt(done?.detail ?? null, 'returned')
    }
    assert.equal(await returned('0'), 'a summary with [secret]')
    assert.equal(await returned('1'), '{"summary":"short","at":"1970-01-01T00:00:00.000Z","of":[1,null]}')
    assert.equal(await returned('2'), `${'x'.repeat(4_000)}…`)
    assert.match((await returned('3')) ?? '', /^\{"list":\[0,1,2,.{3900,4100}…$/)
    assert.deepEqual([await returned('4'), await returned('5')], [undefined, undefined])
  })

  test('what is sent as the reply is not in the history a second time', async (t) => {
    const { store, accept, untilNoted } = await stage(t, () => 'on its way')
    const id = await accept()
    await untilNoted(id, 'done')
    assert.doesNotMatch(JSON.stringify(await store.journal.history(id)), /on its way/)
  })

  test('a result that forges an approval becomes a dead letter', async (t) => {
    const forged = { text: 'x', data: { approval: { id: 'a1', title: 'harmless' } } }
    const { accept, untilNoted, replies } = await stage(t, () => forged)
    await untilNoted(await accept(), 'dead')
    assert.deepEqual(replies, [])
  })

  test('sends no reply for a route with `reply: none`', async (t) => {
    const { accept, untilNoted, replies } = await stage(t, () => 'unwanted', [routeOf({ reply: 'none' })])
    await untilNoted(await accept(), 'done')
    assert.deepEqual(replies, [])
  })

  const sendsBeforeResult: { title: string; args: object; replies: string[] }[] = [
    { title: 'sends no result after the skill has replied itself', args: {}, replies: ['by the skill'] },
    {
      title: 'sends the result after a send to a forbidden target',
      args: { gateway: 'closed', to: 'bob' },
      replies: ['result'],
    },
    {
      title: 'sends the result after a send that was permanently rejected',
      // With `wait`, the send waits for its outcome, which is the rejection.
      args: { wait: 9 },
      replies: ['by the skill', 'result'],
    },
  ]
  for (const { title, args, replies: expected } of sendsBeforeResult) {
    test(title, async (t) => {
      const { accept, untilNoted, replies } = await stage(
        t,
        async ({ message, route, sends }, { outbox }) => {
          const error = { at: 0, code: 'send_rejected', message: 'no' }
          const nothing = async () => undefined
          const send = createSend({
            store: { journal: { get: nothing }, receive: { leased: nothing } },
            outbox: {
              reply: outbox.reply,
              replyAt: () => Promise.reject(new Error('no')),
              sendTo: () => Promise.reject(new Error('no')),
              wait: async () => ({ state: 'dead', at: 0, error }),
            },
            gateway: (name) => ({ name, open: false }),
            transport: () => undefined,
            files: { requireAll: async () => {} },
            later: () => undefined,
            newKey: () => 'random',
          })
          const call = callOf({ message, route: route.name, sends })
          await send.send({ text: 'by the skill', ...args }, call).catch(() => {})
          return 'result'
        },
      )
      await untilNoted(await accept(), 'done')
      assert.deepEqual(
        replies.map(({ text }) => text),
        expected,
      )
    })
  }

  test('retries with the same keys for sends, and ends with a dead letter that has every error', async (t) => {
    const { accept, untilNoted, replies, attempts, store, counts, ended } = await stage(
      t,
      async ({ message, attempt, sends }, { outbox }) => {
        await outbox.reply(message, { key: `k${sends.next()}`, text: 'sent before the failure' })
        throw new Error(`failure ${attempt}`)
      },
    )
    const id = await accept()
    await untilNoted(id, 'dead')
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      [1, 2, 3],
    )
    assert.equal(replies.length, 1)
    const letter = await store.jobs.deadLetters.get(id)
    const errors = [1, 2, 3].map((attempt) => ({ message: `failure ${attempt}` }))
    assert.partialDeepStrictEqual(letter, { reason: 'attempts', errors, message: { text: 'hello' } })
    // Each is the route and the outcome.
    assert.deepEqual(counts, ['all retry', 'all retry', 'all dead'])
    assert.deepEqual(ended, [id])
  })

  test('gives up on a test message whose next attempt is far away', async (t) => {
    const retry = { attempts: 5, delay: 600_000, maxDelay: 600_000, backoff: 'fixed' } as const
    const { accept, untilNoted, attempts } = await stage(t, () => {
      throw new Error('out of stock')
    }, [routeOf({ retry })])
    const tested = await accept({ data: { replyTarget: { log: true, test: true } } })
    await untilNoted(tested, 'dead')
    const real = await accept()
    await untilNoted(real, 'failed')
    assert.equal(attempts.length, 2)
  })

  test('does not count attempts that failed because the store was unavailable', async (t) => {
    let failures = 3
    const unavailable = () =>
      new TriviumError('store_unavailable', { store: 'a shard', reason: 'the test says so' })
    const run = () => (failures-- > 0 ? Promise.reject(unavailable()) : 'done')
    const retry = { attempts: 1, delay: 1, maxDelay: 1, backoff: 'fixed' as const }
    const { accept, untilNoted, attempts } = await stage(t, run, [routeOf({ retry })])
    await untilNoted(await accept(), 'done')
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      [1, 1, 1, 1],
    )
  })

  test('does not retry after a permanent error', async (t) => {
    const { accept, untilNoted, attempts, store } = await stage(t, () => {
      throw new TriviumError('skill_args_invalid', { name: 'work', details: 'x' })
    })
    const id = await accept()
    await untilNoted(id, 'dead')
    assert.equal(attempts.length, 1)
    assert.equal((await store.jobs.deadLetters.get(id))?.reason, 'permanent')
  })

  test('an attempt whose process died counts, and after the last one the job is not run again', async (t) => {
    const retry = { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } as const
    const { accept, untilNoted, attempts, store, worker, startWorker, ended } = await stage(
      t,
      () => 'never',
      [routeOf({ retry })],
    )
    await worker.stop(0)
    const id = await accept()
    const { cursor } = await store.journal.unpumped(1)
    await store.journal.pumped(cursor, id, [{ id, lane: 'demo/c1', group: 'all', messageId: id }])
    // Like a process that dies: its claim expires.
    await store.jobs.claim(DISPATCH_QUEUE, { max: 1, lease: 1 })
    startWorker()
    await untilNoted(id, 'dead')
    assert.equal(attempts.length, 0)
    assert.match((await store.jobs.deadLetters.get(id))?.errors[0]?.message ?? '', /died 1 times/)
    assert.deepEqual(ended, [id])
  })

  test('a replay routes unrouted messages once, oldest first, by the current routes', async (t) => {
    const { accept, untilNoted, attempts, store, routes } = await stage(t, () => null, [])
    const ids: string[] = []
    for (const text of ['1', '2', '3']) ids.push(await accept({ text }))
    const awaited = await accept({ text: '4', data: { respond: 'result' } })
    await untilNoted(awaited, 'unrouted')
    assert.deepEqual(await store.journal.outcomes(ids), ['unrouted', 'unrouted', 'unrouted'])
    const { match, use } = createRouter([])
    const replay = createReplay({ store, match, now: Date.now })
    const runReplay = (args: object = {}) =>
      replay({ since: 0, dryRun: false, ...args }, callOf({ caller: { kind: 'http', gateways: ['demo'] } }))
    const counts = { seen: 4, routes: {}, routed: 0, unrouted: 0, answered: 0, more: 0 }
    assert.deepEqual(await runReplay(), { ...counts, unrouted: 4 })
    routes.use([routeOf()])
    use([routeOf()])
    assert.deepEqual(await runReplay({ dryRun: true }), { ...counts, routed: 4, routes: { all: 4 } })
    await assert.rejects(runReplay({ gateway: 'private' }), { code: 'forbidden' })
    assert.deepEqual(await runReplay({ since: Date.now() + 1000 }), { ...counts, seen: 0 })
    assert.deepEqual(await runReplay(), { ...counts, routed: 4, routes: { all: 4 } })
    for (const id of [...ids, awaited]) await untilNoted(id, 'done')
    assert.deepEqual(
      attempts.map(({ message }) => message.text),
      ['1', '2', '3', '4'],
    )
    assert.deepEqual(await runReplay(), counts)
  })

  test('concurrent replays run each message once, and one of them counts it', async (t) => {
    const { accept, untilNoted, attempts, store, routes } = await stage(t, () => null, [])
    const ids: string[] = []
    for (const text of ['1', '2', '3']) ids.push(await accept({ text }))
    for (const id of ids)
      await until(async () => (await store.journal.outcomes([id]))[0] === 'unrouted', 'the outcome')
    const { match, use } = createRouter([])
    routes.use([routeOf()])
    use([routeOf()])
    const run = (jobs: Pick<typeof store.jobs, 'add'>) =>
      createReplay({ store: { ...store, jobs: { ...store.jobs, ...jobs } }, match, now: Date.now })(
        { since: 0, dryRun: false },
        callOf({ caller: { kind: 'http', gateways: ['demo'] } }),
      )
    // The late replay finds the messages, but adds their jobs only after the jobs of the others
    // have run.
    const { promise: haveRun, resolve: addLate } = Promise.withResolvers<void>()
    const late = run({ add: (...args) => haveRun.then(() => store.jobs.add(...args)) })
    const others = [run(store.jobs), run(store.jobs)]
    for (const id of ids) await untilNoted(id, 'done')
    addLate()
    const routedBy = async (result: unknown): Promise<number> => Object(await result).routed
    assert.equal(await routedBy(late), 0)
    const [first = 0, second = 0] = await Promise.all(others.map(routedBy))
    assert.equal(first + second, 3)
    await untilEmpty(store, DISPATCH_QUEUE)
    assert.equal(attempts.length, 3)
    for (const id of ids) {
      const notes = (await store.journal.history(id)).filter(({ what }) => what === 'routed again')
      assert.equal(notes.length, 1)
    }
  })

  test('a message without a route is unrouted, also for a sender that waits for the result', async (t) => {
    const { accept, untilNoted, counts, store } = await stage(t, () => 'no', [])
    const id = await accept()
    await until(async () => (await store.journal.outcomes([id]))[0] === 'unrouted', 'the outcome')
    await until(() => counts.length > 0, 'a count')
    assert.deepEqual(counts, ['1 unrouted'])
    assert.deepEqual(await store.journal.history(id), [], 'no note is written')
    const awaited = await accept({ data: { respond: 'result' } })
    await until(() => store.jobs.end(DISPATCH_QUEUE, awaited), 'the end of the job')
    await untilNoted(awaited, 'unrouted')
  })

  test('a message that waits for an approval runs once more after the decision, even if that is repeated', async (t) => {
    let isApproved = false
    const { accept, untilNoted, store, attempts, replies, ended } = await stage(t, () => {
      if (!isApproved) throw new TriviumError('approval_pending', { name: 'work', id: 'ap1' })
      return 'approved'
    })
    const id = await accept()
    await untilNoted(id, 'waits for an approval')
    assert.deepEqual([replies.length, ended.length], [0, 0])
    isApproved = true
    const message = { id, gateway: 'demo', conversation: 'c1' }
    await resumeDispatch(store, message, { id: 'ap1' })
    await resumeDispatch(store, message, { id: 'ap1' })
    await untilNoted(id, 'done')
    await untilEmpty(store, DISPATCH_QUEUE)
    assert.equal(attempts.length, 2)
    assert.deepEqual(replies, [{ key: `${id}:all:0`, text: 'approved', by: 'route all', to: id }])
  })

  test('a run with collected messages has all of them after an approval, and runs once for several decisions', async (t) => {
    let isApproved = false
    const routes = [routeOf({ 'while-busy': 'collect' })]
    const { store, untilNoted, attempts } = await stage(
      t,
      () => {
        if (!isApproved) throw new TriviumError('approval_pending', { name: 'work', id: 'ap1' })
      },
      routes,
    )
    const accepted = await store.journal.accept(['a', 'b'].map((text) => newMessage({ text })))
    const id = accepted[1]?.id ?? ''
    await untilNoted(id, 'waits for an approval')
    isApproved = true
    for (const approval of ['ap1', 'ap2'])
      await resumeDispatch(store, { id, gateway: 'demo', conversation: 'c1' }, { id: approval })
    await untilNoted(id, 'done')
    await untilEmpty(store, DISPATCH_QUEUE)
    assert.deepEqual(
      attempts.map(({ message, collected }) => [message.text, collected.map(({ text }) => text)]),
      [
        ['b', ['a']],
        ['b', ['a']],
      ],
    )
  })
})
