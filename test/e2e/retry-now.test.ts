import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { outboxId } from '../../src/engine/outbox.ts'
import { createRetryNow } from '../../src/engine/retry-now.ts'
import { callOf, newMessage } from '../engine/kit.ts'
import { openSite } from '../fixtures/daemon.ts'
import { startRedisServer } from '../fixtures/redis-server.ts'
import { until } from '../fixtures/until.ts'
import { storeKinds } from '../runtime/support/store.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
routes: [{ name: orders, skill: order, reply: none, retry: { attempts: 4, delay: 1h } }]
`
/** Fails at the first attempt on each message. */
const ORDER = `const seen = new Set()
export default { description: 'Books an order', run({ message }) {
  if (seen.has(message.id)) return undefined
  seen.add(message.id)
  throw new Error('the warehouse is away')
} }`

for (const kind of ['embedded', 'redis'] as const) {
  describe(`message-retry, on the ${kind} store`, { timeout: 300_000 }, async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined
    if (redis) after(() => redis.stop())
    const env = redis ? { REDIS_URL: redis.url } : {}
    const site = openSite({ routes: ROUTES, skills: { order: ORDER }, env })
    const daemon = await site.start()
    const rows = async () => Object(await daemon.invoke('message-search', {})).messages
    const outcomes = async () =>
      Object.fromEntries(
        (await rows()).map((row: { text: string; outcome: string }) => [row.text, row.outcome]),
      )

    test('retries its message at once, and leaves others to their back-off', async () => {
      for (const text of ['"one"', '"two"']) await daemon.post('/shop', text)
      await until(async () => {
        const found = Object.values(await outcomes())
        return found.length === 2 && found.every((outcome) => outcome === 'retrying')
      }, 'both in back-off')
      const [{ id, text }] = await rows()
      assert.deepEqual(await daemon.invoke('message-retry', { id }), { ok: true, id, attempts: 1 })
      await until(async () => (await outcomes())[text] === 'done', 'its second attempt')
      const others = Object.entries(await outcomes()).filter(([each]) => each !== text)
      assert.deepEqual(
        others.map(([, outcome]) => outcome),
        ['retrying'],
      )
      const again = daemon.invoke('message-retry', { id })
      await assert.rejects(
        again,
        (error) => /not_retrying/.test(String(error)) && /is done/.test(String(error)),
      )
      const [{ action, target, outcome }] = Object(
        await daemon.invoke('audit-list', { action: 'message-retry', outcome: 'ok' }),
      ).entries
      assert.deepEqual([action, target, outcome], ['message-retry', { id }, 'ok'])
      const { history } = Object(await daemon.invoke('message-show', { id }))
      const early = history.find(({ what }: { what: string }) => what === 'retried early')
      assert.partialDeepStrictEqual(early, { road: 'dispatch', detail: { by: 'control-token' } })
    })

    test('run-cancel gives up a message in back-off, which becomes a dead letter or is dropped', async () => {
      for (const text of ['"kept"', '"dropped"']) await daemon.post('/shop', text)
      await until(async () => {
        const found = await outcomes()
        return found['"kept"'] === 'retrying' && found['"dropped"'] === 'retrying'
      }, 'both in back-off')
      const idOf = async (text: string) =>
        (await rows()).find((row: { text: string }) => row.text === text).id
      // A paused route does not keep a message from being given up.
      await daemon.invoke('route-pause', { route: 'orders' })
      const reason = 'ordered by phone'
      const kept = await idOf('"kept"')
      assert.deepEqual(await daemon.invoke('run-cancel', { messageId: kept, reason }), {
        ...{ ok: true, messageId: kept, cancelled: true, outcome: 'dead' },
      })
      const letter = Object(await daemon.invoke('dead-letter-show', { id: kept }))
      assert.deepEqual(
        letter.errors.map(({ code }: { code: string }) => code),
        ['skill_failed', 'run_cancelled'],
        'no second run of the skill',
      )
      assert.match(letter.errors[1].message, /^Given up by .*: ordered by phone \(message/)
      const dropped = await idOf('"dropped"')
      assert.deepEqual(await daemon.invoke('run-cancel', { messageId: dropped, drop: true }), {
        ...{ ok: true, messageId: dropped, cancelled: true, outcome: 'dropped' },
      })
      const letters = [await daemon.invoke('dead-letter-list', {})].flat().map((each) => Object(each).id)
      assert.deepEqual(letters, [kept])
      await daemon.invoke('route-resume', { route: 'orders' })
    })
  })
}

/** Waits for the test with "slow", and fails at the first two attempts on other messages. */
const BUSY_ORDER = `const attempts = new Map()
export default { description: 'Books an order', async run({ message: { id, text } }) {
  if (text === '"slow"') return void (await globalThis.slowOrder)
  attempts.set(id, (attempts.get(id) ?? 0) + 1)
  if (attempts.get(id) < 3) throw new Error('the warehouse is away')
} }`

test('a message that was given up while its route was busy can be retried afterwards', {
  timeout: 300_000,
}, async () => {
  const slow = Promise.withResolvers<void>()
  Object.assign(globalThis, { slowOrder: slow.promise })
  const routes = ROUTES.replace('reply: none', 'reply: none, concurrency: 1')
  const daemon = await openSite({ routes, skills: { order: BUSY_ORDER } }).start()
  const isNow = (id: string, wanted: string) =>
    until(async () => {
      const { messages } = Object(await daemon.invoke('message-search', {}))
      return messages.some((row: { id: string; outcome: string }) => row.id === id && row.outcome === wanted)
    }, wanted)
  const { id: messageId } = Object((await daemon.post('/shop', '"late"')).body)
  await isNow(messageId, 'retrying')
  const { id: slowId } = Object((await daemon.post('/shop', '"slow"')).body)
  await isNow(slowId, 'running')
  assert.partialDeepStrictEqual(await daemon.invoke('run-cancel', { messageId }), { cancelled: false })
  slow.resolve()
  await isNow(messageId, 'dead')
  await daemon.invoke('dead-letter-retry', { id: messageId })
  await isNow(messageId, 'retrying')
  await daemon.invoke('message-retry', { id: messageId })
  await isNow(messageId, 'done')
})

for (const { kind, place, open } of storeKinds()) {
  test(`message-retry makes a reply due at once whose sending failed, on the ${kind} store`, async (t) => {
    const store = await open(t, await place(t))
    const [{ id = '' } = {}] = await store.journal.accept([newMessage()])
    const key = `${id}:all:0`
    await store.jobs.add('outbox', [{ id: outboxId(key), lane: 'demo/c1', group: 'demo', messageId: id }])
    const [job] = (await store.jobs.claim('outbox', { max: 1, lease: 60_000 })).items
    assert.ok(job)
    const error = { at: Date.now(), code: 'send_failed', message: 'the provider answered 503' }
    const notes = [{ at: Date.now(), road: 'outbox' as const, what: 'send failed', detail: { key } }]
    const retry = { outcome: 'retry' as const, delay: 3_600_000, error, notes }
    await store.jobs.settle('outbox', [{ id: job.id, token: job.token, ...retry }])
    const call = callOf({ caller: { kind: 'cli' } })
    assert.deepEqual(await createRetryNow(store, Date.now).retry({ id, limit: 1 }, call), {
      ok: true,
      id,
      attempts: 1,
    })
    const [again] = (await store.jobs.claim('outbox', { max: 1, lease: 60_000 })).items
    assert.deepEqual([again?.id, again?.failures], [job.id, 1])
  })
}
