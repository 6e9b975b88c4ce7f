import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { type Reply, SendPostponed } from '../../src/core/transport.ts'
import { createOutbox } from '../../src/engine/outbox.ts'
import { createOutboxWorker, type OutboxWorkerOptions, type Sender } from '../../src/engine/outbox-worker.ts'
import { until } from '../fixtures/until.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'
import { redisOf } from '../stores/redis/kit.ts'
import { begin, partsOf } from './kit.ts'

/** An outbox that a worker empties through `sender`, from `start` on. */
function outboxOf(
  t: TestContext,
  store: Store,
  sender: (reply: Reply) => Sender | undefined,
  options: Partial<OutboxWorkerOptions> = {},
) {
  const outcomes: string[] = []
  const sent = (_reply: Reply, outcome: string) => void outcomes.push(outcome)
  const worker = createOutboxWorker({ ...partsOf(store), gateways: () => [], sender, sent, ...options })
  return { ...createOutbox(store, Date.now), outcomes, worker, start: () => begin(t, worker) }
}

/** The same with a store of its own, at work. */
async function atWork(t: TestContext, sender: (reply: Reply) => Sender | undefined) {
  const store = await openStore(t)
  const outbox = outboxOf(t, store, sender)
  outbox.start()
  return { ...outbox, store }
}

/** A transport that remembers what it sent; `fail` is asked first. */
function recorder(fail: (reply: Reply, attempt: number) => unknown = () => undefined) {
  const sent: Reply[] = []
  let attempt = 0
  const sender: Sender = {
    async send(reply) {
      attempt++
      const failure = fail(reply, attempt)
      if (failure) throw failure
      sent.push(reply)
      return { id: `r${sent.length}` }
    },
  }
  return { sent, sender, attempts: () => attempt }
}

const FOUND = { sent: true, receipt: { id: 'found' } } as const
const failed = () => new TriviumError('send_failed', { gateway: 'demo', reason: 'busy' })

describe('the outbox', () => {
  test('tells of a reply that the transport suppressed, and does not call it sent', async (t) => {
    const sender: Sender = { send: async () => ({ id: 'x', data: { suppressed: 'list' } }) }
    const outbox = await atWork(t, () => sender)
    const [accepted] = await outbox.store.journal.accept([messageOf()])
    const message = { ...messageOf(), id: accepted?.id ?? '' }
    const { id } = await outbox.reply(message, { key: 'k', text: 'hi' })
    assert.equal((await outbox.wait(id, 20_000))?.state, 'done')
    assert.deepEqual(outbox.outcomes, ['suppressed'])
    const [note] = (await outbox.store.journal.history(message.id)).filter(({ road }) => road === 'outbox')
    assert.equal(note?.what, 'suppressed')
    assert.deepEqual(note?.detail, { text: 'hi', key: 'k', reason: 'list' })
  })

  test('calls a postponed send again when its turn comes, and counts no attempt', async (t) => {
    const turns = recorder((_reply, attempt) => (attempt <= 40 ? new SendPostponed(1) : undefined))
    const outbox = await atWork(t, () => turns.sender)
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    assert.equal((await outbox.wait(id, 20_000))?.state, 'done')
    assert.deepEqual([turns.attempts(), turns.sent.length, outbox.outcomes], [41, 1, ['sent']])
  })

  test('a gateway whose server hangs leaves places for the replies of others', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder()
    const { promise: hanging, resolve: recover } = Promise.withResolvers<void>()
    const stuck: Sender = { send: (reply) => hanging.then(() => sender.send(reply)) }
    const senderOf = ({ gateway }: Reply) => (gateway === 'stuck' ? stuck : sender)
    const outbox = outboxOf(t, store, senderOf, { gateways: () => ['stuck', 'well'] })
    outbox.start()
    const jobs = Array.from({ length: 30 }, (_, n) =>
      outbox.sendTo('stuck', `to${n}`, { key: `s${n}`, text: 'x' }),
    )
    await Promise.all(jobs)
    await until(() => outbox.worker.running().length === 8, 'three quarters of the places to be taken')
    const { id } = await outbox.sendTo('well', 'ann', { key: 'w', text: 'hi' })
    assert.equal((await outbox.wait(id, 10_000))?.state, 'done')
    recover()
    await until(() => sent.length === 31, 'the rest')
  })

  /** A send whose process died: nobody knows whether it arrived. */
  async function lostSend(store: Store, outbox: ReturnType<typeof outboxOf>) {
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    await store.jobs.claim('outbox', { max: 1, lease: 1 })
    outbox.start()
    return outbox.wait(id, 10_000)
  }

  test('looks whether an interrupted send arrived, and sends only where it did not', async (t) => {
    for (const arrived of [true, false]) {
      const store = await openStore(t)
      const { sent, sender } = recorder()
      const probe = async () => (arrived ? FOUND : { sent: false as const })
      const outbox = outboxOf(t, store, () => ({ ...sender, probe }))
      const state = await lostSend(store, outbox)
      const receipt = { id: arrived ? 'found' : 'r1' }
      assert.deepEqual(state?.state === 'done' && state.result, { receipt })
      assert.equal(sent.length, arrived ? 0 : 1)
    }
  })

  test('sends nothing again that went out before Redis died and lost its last writes, but what lay there', async (t) => {
    const cases = {
      'the one that sent': { probe: async () => ({ sent: 'unknown' }) as const },
      another: { probe: async () => FOUND },
      'one whose replies lie in the store': {},
    }
    for (const [survivor, looks] of Object.entries(cases)) {
      const { server, open, client } = await redisOf(t, ['--appendonly', 'no'])
      const [store, later] = [await open(), await open()]
      const { sent, sender } = recorder()
      const outbox = outboxOf(t, store, () => ({ ...sender, ...looks }))
      const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
      await client().save()
      outbox.start()
      const isDone = async () => (await later.jobs.end('outbox', id)) !== undefined
      await until(isDone, 'the send')
      if (survivor === 'another') await outbox.worker.stop(0)
      await server.kill()
      await server.start()
      // From here on only the Redis without its last writes answers.
      if (survivor === 'another') outboxOf(t, later, () => ({ ...sender, ...looks })).start()
      await until(() => isDone().catch(() => false), 'the end of the same send', 30_000)
      assert.equal(sent.length, 'probe' in looks ? 1 : 2, survivor)
    }
  })

  test('holds what it cannot find out about for an operator, and never sends it blindly', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder()
    const outbox = outboxOf(t, store, () => ({ ...sender, probe: async () => ({ sent: 'unknown' }) }))
    const state = await lostSend(store, outbox)
    assert.equal(state?.state, 'dead')
    assert.equal((await store.jobs.deadLetters.list({ limit: 1 })).items[0]?.reason, 'ambiguous')
    assert.equal(sent.length, 0)
  })

  test('still looks first when an attempt after the ambiguous one failed for another reason', async (t) => {
    const store = await openStore(t)
    const probes: string[] = []
    const { sent, sender } = recorder((_reply, attempt) =>
      attempt === 1
        ? new TriviumError('send_ambiguous', { gateway: 'demo', key: 'k', reason: 'cut off' })
        : undefined,
    )
    const probe: Sender['probe'] = async () => {
      probes.push('asked')
      // The first look fails itself: the mailbox is away.
      if (probes.length === 1) throw failed()
      return FOUND
    }
    const outbox = outboxOf(t, store, () => ({ ...sender, probe }))
    outbox.start()
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    const state = await outbox.wait(id, 20_000)
    assert.deepEqual(state?.state === 'done' && state.result, { receipt: { id: 'found' } })
    assert.deepEqual([probes.length, sent.length], [2, 0])
  })

  test('leaves a hanging send at the end of the grace, and looks for it before it is sent again', async (t) => {
    const store = await openStore(t)
    const begun = Promise.withResolvers<void>()
    const hanging: Sender = {
      send() {
        begun.resolve()
        return new Promise(() => {})
      },
    }
    const first = outboxOf(t, store, () => hanging)
    first.start()
    const { id } = await first.reply(messageOf(), { key: 'k', text: 'hi' })
    await begun.promise
    await first.worker.stop(10)

    const { sent, sender } = recorder()
    const second = outboxOf(t, store, () => ({ ...sender, probe: async () => FOUND }))
    second.start()
    const state = await second.wait(id, 10_000)
    assert.deepEqual(state?.state === 'done' && state.result, { receipt: { id: 'found' } })
    assert.equal(sent.length, 0)
  })

  test('leaves a look for a send that hangs at the end of the grace, and looks again', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder((_reply, attempt) =>
      attempt === 1
        ? new TriviumError('send_ambiguous', { gateway: 'demo', key: 'k', reason: 'cut off' })
        : undefined,
    )
    const { promise: hanging } = Promise.withResolvers<typeof FOUND>()
    let looks = 0
    const probe = () => {
      looks++
      return hanging
    }
    const first = outboxOf(t, store, () => ({ ...sender, probe }))
    first.start()
    const { id } = await first.reply(messageOf(), { key: 'k', text: 'hi' })
    await until(() => looks === 1, 'a look')
    await first.worker.stop(10)
    const second = outboxOf(t, store, () => ({ ...sender, probe: async () => FOUND }))
    second.start()
    assert.equal((await second.wait(id, 20_000))?.state, 'done')
    assert.deepEqual(sent, [])
  })

  test('keeps the reply of a gateway that is away, at no attempt', async (t) => {
    const outbox = await atWork(t, () => undefined)
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    await until(async () => {
      const { nextDue = 0 } = await outbox.store.jobs.claim('outbox', { max: 0, lease: 1000 })
      return (await outbox.store.jobs.end('outbox', id)) === undefined && nextDue > Date.now() + 1000
    }, 'a reply that waits for its gateway')
  })

  test('gives a reply up whose gateway was away for a day: nobody wants it any more', async (t) => {
    const store = await openStore(t)
    const outbox = outboxOf(t, store, () => undefined, { now: () => Date.now() + 86_400_000 })
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    outbox.start()
    const state = await outbox.wait(id, 10_000)
    assert.equal(state?.state === 'dead' && state.error.code, 'gateway_not_found')
  })
})
