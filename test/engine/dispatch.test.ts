import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
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
import { begin, callOf, drained, newMessage, noted, partsOf, routeOf } from './kit.ts'

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
  const router = createRouter(routes)
  const start = () =>
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
        outbox,
        metrics: { dispatched: (route, outcome) => counts.push(`${route} ${outcome}`), latency() {} },
      }),
    )
  const accept = async (parts: Partial<NewMessage> = {}) => {
    const [answer] = await store.journal.accept([newMessage(parts)])
    assert.ok(answer)
    return answer.id
  }
  return {
    store,
    routes: router,
    worker: start(),
    start,
    replies,
    attempts,
    ended,
    counts,
    accept,
    noted: noted.bind(null, store),
  }
}

describe('dispatch', () => {
  test('sends what a result says to others, and keeps to itself what is no reply', async (t) => {
    const file = { name: 'a.txt', type: 'text/plain', size: 1, sha256: 'ab', path: 'artifacts/ab/ab' }
    const whole = { text: 'whole', subject: 'On it', attachments: [file], data: { ephemeral: true } }
    const silent = { text: '', data: { view: { type: 'modal' } } }
    const results: unknown[] = [
      whole,
      silent,
      { text: 'x', subject: 7, attachments: 'none', data: { at: 10n } },
    ]
    const nothing = ['', { text: '', attachments: [], data: {} }, undefined, null, 7, ['no'], { body: 'no' }]
    results.push(...nothing)
    const { accept, noted, replies } = await stage(t, ({ message }) => results[Number(message.text)])
    for (const text of results.keys()) await noted(await accept({ text: String(text) }), 'done')
    const sent = replies.map(({ key: _key, by: _by, to: _to, ...rest }) => rest)
    assert.deepEqual(sent, [whole, silent, { text: 'x' }])
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

  const byHand: [string, object, string[]][] = [
    ['sends no second reply where the skill has sent one itself', {}, ['by hand']],
    [
      'sends what is returned after a send to where it may not',
      { gateway: 'closed', to: 'bob' },
      ['returned'],
    ],
    ['sends what is returned after a send that was refused for good', { wait: 9 }, ['by hand', 'returned']],
  ]
  for (const [what, where, expected] of byHand) {
    test(what, async (t) => {
      const { accept, noted, replies } = await stage(t, async ({ message, route, sends }, { outbox }) => {
        const error = { at: 0, code: 'send_rejected', message: 'no' }
        const nothing = async () => undefined
        const send = createSend({
          store: { journal: { get: nothing }, receive: { leased: nothing } },
          outbox: {
            reply: outbox.reply,
            sendTo: () => Promise.reject(new Error('no')),
            wait: async () => ({ state: 'dead', reason: 'permanent', error }),
          },
          gateway: (name) => ({ name, open: false }),
          transport: () => undefined,
          files: { requireAll: async () => {} },
          later: () => undefined,
          newKey: () => 'random',
        })
        const call = callOf({ message, route: route.name, sends })
        await send.send({ text: 'by hand', ...where }, call).catch(() => {})
        return 'returned'
      })
      await noted(await accept(), 'done')
      assert.deepEqual(
        replies.map(({ text }) => text),
        expected,
      )
    })
  }

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
    const errors = [1, 2, 3].map((attempt) => ({ message: `failure ${attempt}` }))
    assert.partialDeepStrictEqual(letter, { reason: 'attempts', errors, message: { text: 'hello' } })
    assert.deepEqual(counts, ['all retry', 'all retry', 'all dead'])
    assert.deepEqual(ended, [id])
  })

  test('counts no attempt that failed because a part of the store was away', async (t) => {
    let left = 3
    const away = () => new TriviumError('store_unavailable', { store: 'a shard', reason: 'the test says so' })
    const run = () => (left-- > 0 ? Promise.reject(away()) : 'done')
    const retry = { attempts: 1, delay: 1, maxDelay: 1, backoff: 'fixed' as const }
    const { accept, noted, attempts } = await stage(t, run, [routeOf({ retry })])
    await noted(await accept(), 'done')
    assert.deepEqual(
      attempts.map(({ attempt }) => attempt),
      [1, 1, 1, 1],
    )
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

  test('counts an attempt whose process died, and gives up without another run once they are used up', async (t) => {
    const retry = { attempts: 1, backoff: 'fixed', delay: 1, maxDelay: 1 } as const
    const { accept, noted, attempts, store, worker, start, ended } = await stage(t, () => 'never', [
      routeOf({ retry }),
    ])
    await worker.stop(0)
    const id = await accept()
    const { cursor } = await store.journal.unpumped(1)
    await store.journal.pumped(cursor, id, [{ id, lane: 'demo/c1', group: 'all', messageId: id }])
    // A holder that dies: its claim runs out.
    await store.jobs.claim(DISPATCH_QUEUE, { max: 1, lease: 1 })
    start()
    await noted(id, 'dead')
    assert.equal(attempts.length, 0)
    assert.match((await store.jobs.deadLetters.get(id))?.errors[0]?.message ?? '', /died 1 times/)
    assert.deepEqual(ended, [id])
  })

  test('routes again what no route took, oldest first and once, when the routes have changed', async (t) => {
    const { accept, noted, attempts, store, routes } = await stage(t, () => null, [])
    const ids: string[] = []
    for (const text of ['1', '2', '3']) ids.push(await accept({ text }))
    const awaited = await accept({ data: { respond: 'result' } })
    await noted(awaited, 'unrouted')
    assert.deepEqual(await store.journal.outcomes(ids), ['unrouted', 'unrouted', 'unrouted'])
    const { match, use } = createRouter([])
    const replay = createReplay({ store, match, now: Date.now })
    const again = (args: object = {}) =>
      replay({ since: 0, dryRun: false, ...args }, callOf({ caller: { kind: 'http', gateways: ['demo'] } }))
    const counts = { seen: 4, routes: {}, routed: 0, unrouted: 0, more: 0 }
    assert.deepEqual(await again(), { ...counts, unrouted: 3 })
    for (const each of [routes.use, use]) each([routeOf()])
    assert.deepEqual(await again({ dryRun: true }), { ...counts, routed: 3, routes: { all: 3 } })
    await assert.rejects(again({ gateway: 'private' }), { code: 'forbidden' })
    assert.deepEqual(await again({ since: Date.now() + 1000 }), { ...counts, seen: 0 })
    assert.deepEqual(await again(), { ...counts, routed: 3, routes: { all: 3 } })
    for (const id of ids) await noted(id, 'done')
    assert.deepEqual(
      attempts.map(({ message }) => message.text),
      ['1', '2', '3'],
    )
    assert.deepEqual(await again(), counts)
  })

  test('two replays at the same time run a message once, and one of them counts it', async (t) => {
    const { accept, noted, attempts, store, routes } = await stage(t, () => null, [])
    const ids: string[] = []
    for (const text of ['1', '2', '3']) ids.push(await accept({ text }))
    for (const id of ids)
      await until(async () => (await store.journal.outcomes([id]))[0] === 'unrouted', 'the outcome')
    const { match, use } = createRouter([])
    for (const each of [routes.use, use]) each([routeOf()])
    const run = (jobs: Pick<typeof store.jobs, 'add'>) =>
      createReplay({ store: { ...store, jobs: { ...store.jobs, ...jobs } }, match, now: Date.now })(
        { since: 0, dryRun: false },
        callOf({ caller: { kind: 'http', gateways: ['demo'] } }),
      )
    // The second has found the messages, and adds them when the first's have run.
    const { promise: haveRun, resolve: goOn } = Promise.withResolvers<void>()
    const second = run({ add: (...args) => haveRun.then(() => store.jobs.add(...args)) })
    const third = run(store.jobs)
    const first = run(store.jobs)
    for (const id of ids) await noted(id, 'done')
    goOn()
    const counts = (await Promise.all([first, second, third])).map((told): number => Object(told).routed)
    assert.equal(
      counts.reduce((sum, routed) => sum + routed),
      3,
    )
    assert.equal(counts[1], 0)
    await drained(store, DISPATCH_QUEUE)
    assert.equal(attempts.length, 3)
    for (const id of ids) {
      const again = (await store.journal.history(id)).filter(({ what }) => what === 'routed again')
      assert.equal(again.length, 1)
    }
  })

  test('says of a message without a route that it is unrouted, and remembers it for whoever waits', async (t) => {
    const { accept, noted, counts, store } = await stage(t, () => 'no', [])
    const id = await accept()
    await until(async () => (await store.journal.outcomes([id]))[0] === 'unrouted', 'the outcome')
    await until(() => counts.length > 0, 'a count')
    assert.deepEqual(counts, [' unrouted'])
    assert.deepEqual(await store.journal.history(id), [], 'it costs no note')
    const awaited = await accept({ data: { respond: 'result' } })
    const state = await until(() => store.jobs.end(DISPATCH_QUEUE, awaited), 'the job')
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
    await drained(store, DISPATCH_QUEUE)
    assert.equal(attempts.length, 2)
    assert.deepEqual(replies, [{ key: `${id}:all:0`, text: 'approved', by: 'route all', to: id }])
  })

  test('a call that collected messages has them all when it goes on after an approval, and runs once for several decisions', async (t) => {
    let approved = false
    const routes = [routeOf({ 'while-busy': 'collect' })]
    const { store, noted, attempts } = await stage(
      t,
      () => {
        if (!approved) throw new TriviumError('approval_pending', { name: 'work', id: 'ap1' })
      },
      routes,
    )
    const accepted = await store.journal.accept(['a', 'b'].map((text) => newMessage({ text })))
    const id = accepted[1]?.id ?? ''
    await noted(id, 'waits for an approval')
    approved = true
    for (const approval of ['ap1', 'ap2'])
      await resumeDispatch(store, { id, gateway: 'demo', conversation: 'c1' }, approval)
    await noted(id, 'done')
    await drained(store, DISPATCH_QUEUE)
    assert.deepEqual(
      attempts.map(({ message, collected }) => [message.text, collected.map(({ text }) => text)]),
      [
        ['b', ['a']],
        ['b', ['a']],
      ],
    )
  })
})
