import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createPush } from '../../src/features/push/push.ts'
import { pushSchema } from '../../src/features/push/schema.ts'
import { callOf } from '../engine/kit.ts'
import { serveHttp } from '../fixtures/http-server.ts'
import { until } from '../fixtures/until.ts'
import { cleanup } from '../runtime/support/cleanup.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { storeKinds } from '../runtime/support/store.ts'

const BY = callOf({ caller: { kind: 'cli', id: 'ada@host' } })

/** A receiver that answers with `status.now`, and keeps the ids that it got. */
async function receiver(t: TestContext) {
  const got: string[] = []
  const status = { now: 200 }
  const { url, close } = await serveHttp((request, response) => {
    got.push(String(request.headers['webhook-id']))
    response.writeHead(status.now).end()
  })
  cleanup(t, close)
  return { got, status, url }
}

/** A daemon that pushes the topic `orders`. */
async function pushing(t: TestContext, store: Store, url: string) {
  const log = createMemoryLog()
  const work = createLongWork({ store, owner: 'a', log, now: Date.now })
  cleanup(t, () => work.stop())
  const replay = createReplayEvents({ topics: store.topics, work, now: Date.now })
  const parts = { store, replay, owner: 'a', pushed: () => {}, log, now: Date.now }
  const push = createPush({ ...parts, known: () => ({ gateway: [], transport: [] }), hide: () => {} })
  const retry = { attempts: 9, delay: 5, 'max-delay': 10 }
  const secret = `whsec_${Buffer.from('a secret of 24 bytes and more').toString('base64')}`
  const settings = { name: 'crm', topic: 'orders', url, secret, 'allow-private': true, retry }
  await push.use([pushSchema.parse(settings)])
  push.start()
  cleanup(t, () => push.stop(0))
  const done = (id: string) =>
    until(async () => (await work.service.show({ id })).state === 'done', 'the end of the replay')
  return {
    /** Redelivers all events to the group by `event-replay`. */
    async replayGroup() {
      await done((await replay.begin({ topic: 'orders', group: 'crm', range: {} }, BY)).id)
    },
    /** The same by `subscription-replay`. */
    async replay() {
      const { job } = await push.service.replay({ name: 'crm', dryRun: false }, BY)
      await done(job?.id ?? '')
    },
    /** Waits until nothing is left to send. */
    idle: () =>
      until(async () => Object(await push.service.show({ name: 'crm' })).waiting === 0, 'nothing to wait'),
  }
}

/** Publishes an event, and returns its id. */
async function emit(store: Store): Promise<string> {
  const [id = ''] = await store.topics.publish('orders', [{ type: 'paid', source: 'shop', data: {} }])
  return id
}

for (const { kind, place, open } of storeKinds()) {
  describe(`events that an operator redelivers to a push subscription, on the ${kind} store`, () => {
    for (const by of ['replayGroup', 'replay', 'seek'] as const) {
      test(`are pushed until they arrive, also if they had been retried before (${by})`, async (t) => {
        const store = await open(t, await place(t))
        const { got, status, url } = await receiver(t)
        const daemon = await pushing(t, store, url)
        const id = await emit(store)
        for (let round = 1; round <= 3; round++) {
          status.now = 503
          if (round > 1 && by === 'seek') await store.topics.seek('orders', 'crm', 'start')
          if (round > 1 && by !== 'seek') await daemon[by]()
          await until(() => got.length >= 2, `two attempts in round ${round}`)
          status.now = 200
          const before = got.length
          await until(() => got.length > before, `the push in round ${round}`)
          await daemon.idle()
          assert.deepEqual(new Set(got.splice(0)), new Set([id]))
        }
      })
    }

    test('are pushed again although the first push is acknowledged only after the replay', async (t) => {
      const store = await open(t, await place(t))
      const { got, url } = await receiver(t)
      const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>()
      const { promise: mayAck, resolve: letAck } = Promise.withResolvers<void>()
      const slow: Store['topics'] = {
        ...store.topics,
        async ack(...args) {
          if (args[2].length > 0) ask()
          await mayAck
          return store.topics.ack(...args)
        },
      }
      const daemon = await pushing(t, { ...store, topics: slow }, url)
      const id = await emit(store)
      await isAsked
      await daemon.replay()
      letAck()
      await until(() => got.length >= 2, 'the second push')
      await daemon.idle()
      assert.deepEqual(got, [id, id])
    })
  })
}
