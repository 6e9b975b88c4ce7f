import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { type Reply, SendPostponed } from '../../src/core/transport.ts'
import { createOutbox } from '../../src/engine/outbox.ts'
import { createOutboxWorker, type OutboxWorkerOptions, type Sender } from '../../src/engine/outbox-worker.ts'
import { DAY } from '../contract/store/kit.ts'
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

/** An outbox with its own store, already started. */
async function startOutbox(t: TestContext, sender: (reply: Reply) => Sender | undefined) {
  const store = await openStore(t)
  const outbox = outboxOf(t, store, sender)
  outbox.start()
  return { ...outbox, store }
}

/** A transport that records what it sent. If `fail` returns an error, the attempt throws it. */
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
const ambiguous = () => new TriviumError('send_ambiguous', { gateway: 'demo', key: 'k', reason: 'cut off' })

describe('the outbox', () => {
  test('a reply that the transport suppresses has the outcome `suppressed`', async (t) => {
    const sender: Sender = { send: async () => ({ id: 'x', data: { suppressed: 'list' } }) }
    const outbox = await startOutbox(t, () => sender)
    const [accepted] = await outbox.store.journal.accept([messageOf()])
    const message = { ...messageOf(), id: accepted?.id ?? '' }
    const { id } = await outbox.reply(message, { key: 'k', text: 'hi' })
    assert.equal((await outbox.wait(id, 20_000))?.state, 'done')
    assert.deepEqual(outbox.outcomes, ['suppressed'])
    const [note] = (await outbox.store.journal.history(message.id)).filter(({ road }) => road === 'outbox')
    assert.equal(note?.what, 'suppressed')
    assert.deepEqual(note?.detail, { text: 'hi', key: 'k', reason: 'list' })
  })

  test('repeats postponed sends without counting an attempt', async (t) => {
    const POSTPONED = 40
    const turns = recorder((_reply, attempt) => (attempt <= POSTPONED ? new SendPostponed(1) : undefined))
    const outbox = await startOutbox(t, () => turns.sender)
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    assert.equal((await outbox.wait(id, 20_000))?.state, 'done')
    assert.deepEqual([turns.attempts(), turns.sent.length, outbox.outcomes], [POSTPONED + 1, 1, ['sent']])
  })

  test('a gateway that hangs takes three quarters of the places, so others can send', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder()
    const { promise: hanging, resolve: recover } = Promise.withResolvers<void>()
    const stuck: Sender = { send: (reply) => hanging.then(() => sender.send(reply)) }
    const senderOf = ({ gateway }: Reply) => (gateway === 'stuck' ? stuck : sender)
    const outbox = outboxOf(t, store, senderOf, { gateways: () => ['stuck', 'working'] })
    outbox.start()
    const jobs = Array.from({ length: 30 }, (_, n) =>
      outbox.sendTo('stuck', `to${n}`, { key: `s${n}`, text: 'x' }),
    )
    await Promise.all(jobs)
    await until(() => outbox.worker.running().length === 8, 'all places of the stuck gateway to be taken')
    const { id } = await outbox.sendTo('working', 'ann', { key: 'w', text: 'hi' })
    assert.equal((await outbox.wait(id, 10_000))?.state, 'done')
    recover()
    await until(() => sent.length === 31, 'the replies of the stuck gateway')
  })

  /**
   * A send whose process died, so that its outcome is unknown. Resolves when the outbox has settled
   * it.
   */
  async function lostSend(store: Store, outbox: ReturnType<typeof outboxOf>) {
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    await store.jobs.claim('outbox', { max: 1, lease: 1 })
    outbox.start()
    return outbox.wait(id, 10_000)
  }

  test('probes for an interrupted send, and repeats it only if it did not arrive', async (t) => {
    for (const hasArrived of [true, false]) {
      const store = await openStore(t)
      const { sent, sender } = recorder()
      const probe = async () => (hasArrived ? FOUND : { sent: false as const })
      const outbox = outboxOf(t, store, () => ({ ...sender, probe }))
      const state = await lostSend(store, outbox)
      const receipt = { id: hasArrived ? 'found' : 'r1' }
      assert.deepEqual(state?.state === 'done' && state.result, { receipt })
      assert.equal(sent.length, hasArrived ? 0 : 1)
    }
  })

  const afterLostWrites = [
    {
      title: 'the sending daemon does not repeat a send whose outcome Redis lost',
      sender: { probe: async () => ({ sent: 'unknown' }) as const },
      isOther: false,
      sends: 1,
    },
    {
      title: 'another daemon probes before it repeats a send whose outcome Redis lost',
      sender: { probe: async () => FOUND },
      isOther: true,
      sends: 1,
    },
    {
      title: 'repeats a send that Redis lost if replies are kept in Redis',
      sender: {},
      isOther: false,
      sends: 2,
    },
  ]
  for (const { title, sender: extra, isOther, sends } of afterLostWrites)
    test(title, async (t) => {
      const { server, open, client } = await redisOf(t, ['--appendonly', 'no'])
      const [store, otherStore] = [await open(), await open()]
      const { sent, sender } = recorder()
      const outbox = outboxOf(t, store, () => ({ ...sender, ...extra }))
      const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
      await client().save()
      outbox.start()
      const isDone = async () => (await otherStore.jobs.end('outbox', id)) !== undefined
      await until(isDone, 'the send')
      if (isOther) await outbox.worker.stop(0)
      // Redis loses everything since `save`.
      await server.kill()
      await server.start()
      if (isOther) outboxOf(t, otherStore, () => ({ ...sender, ...extra })).start()
      await until(() => isDone().catch(() => false), 'the end of the same send')
      assert.equal(sent.length, sends)
    })

  test('a send with an unknown outcome becomes a dead letter, and is not repeated', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder()
    const outbox = outboxOf(t, store, () => ({ ...sender, probe: async () => ({ sent: 'unknown' }) }))
    const state = await lostSend(store, outbox)
    assert.equal(state?.state, 'dead')
    assert.equal((await store.jobs.deadLetters.list({ limit: 1 })).items[0]?.reason, 'ambiguous')
    assert.equal(sent.length, 0)
  })

  test('still probes first after a failed probe', async (t) => {
    const store = await openStore(t)
    let probes = 0
    const { sent, sender } = recorder((_reply, attempt) => (attempt === 1 ? ambiguous() : undefined))
    const probe: Sender['probe'] = async () => {
      probes++
      if (probes === 1) throw new TriviumError('send_failed', { gateway: 'demo', reason: 'busy' })
      return FOUND
    }
    const outbox = outboxOf(t, store, () => ({ ...sender, probe }))
    outbox.start()
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    const state = await outbox.wait(id, 20_000)
    assert.deepEqual(state?.state === 'done' && state.result, { receipt: { id: 'found' } })
    assert.deepEqual([probes, sent.length], [2, 0])
  })

  test('stops without waiting for a hanging send, which is probed before it is repeated', async (t) => {
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

  test('stops without waiting for a hanging probe, which is repeated', async (t) => {
    const store = await openStore(t)
    const { sent, sender } = recorder((_reply, attempt) => (attempt === 1 ? ambiguous() : undefined))
    const { promise: hanging } = Promise.withResolvers<typeof FOUND>()
    let probes = 0
    const probe = () => {
      probes++
      return hanging
    }
    const first = outboxOf(t, store, () => ({ ...sender, probe }))
    first.start()
    const { id } = await first.reply(messageOf(), { key: 'k', text: 'hi' })
    await until(() => probes === 1, 'the probe')
    await first.worker.stop(10)
    const second = outboxOf(t, store, () => ({ ...sender, probe: async () => FOUND }))
    second.start()
    assert.equal((await second.wait(id, 20_000))?.state, 'done')
    assert.deepEqual(sent, [])
  })

  test('keeps a reply whose gateway does not run, without counting attempts', async (t) => {
    const outbox = await startOutbox(t, () => undefined)
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    await until(async () => {
      const { nextDue = 0 } = await outbox.store.jobs.claim('outbox', { max: 0, lease: 1000 })
      return (await outbox.store.jobs.end('outbox', id)) === undefined && nextDue > Date.now() + 1000
    }, 'a reply that waits for its gateway')
  })

  test('a reply whose gateway has not run for a day becomes a dead letter', async (t) => {
    const store = await openStore(t)
    const outbox = outboxOf(t, store, () => undefined, { now: () => Date.now() + DAY })
    const { id } = await outbox.reply(messageOf(), { key: 'k', text: 'hi' })
    outbox.start()
    const state = await outbox.wait(id, 10_000)
    assert.equal(state?.state === 'dead' && state.error.code, 'gateway_not_found')
  })
})
