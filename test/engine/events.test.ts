import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Call, Caller } from '../../src/core/call.ts'
import { TriviumError } from '../../src/core/errors.ts'
import type { Store } from '../../src/core/store.ts'
import { createEvents } from '../../src/engine/events.ts'
import { createGroupDeliveries } from '../../src/engine/group-deliveries.ts'
import { createGroupSettings } from '../../src/engine/group-settings.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createReplayEvents } from '../../src/engine/replay-events.ts'
import { createSubscriptionRunner } from '../../src/engine/subscription-runner.ts'
import type { SubscriptionJob } from '../../src/engine/subscriptions.ts'
import { until } from '../fixtures/until.ts'
import { messageOf } from '../runtime/support/message.ts'
import { openStore } from '../runtime/support/store.ts'
import { begin, callOf, partsOf, untilEmpty } from './kit.ts'

/** Timeout of waits that end earlier (ms). */
const LONG = 20_000
const TOPIC = 'jobs'

function eventsOn(store: Store) {
  const settings = createGroupSettings(store, () => undefined)
  const deliveries = createGroupDeliveries({ ...partsOf(store), store })
  const events = createEvents({
    store,
    settings,
    bury: deliveries.bury,
    permit: async () => {},
    retentionOf: () => ({ maxAge: LONG, maxCount: 10 }),
    replay: createReplayEvents({
      store,
      work: createLongWork({ ...partsOf(store), store, owner: 'a' }),
      now: Date.now,
    }),
    log: partsOf(store).log,
    now: Date.now,
  })
  const wait = (args: object = {}, call: Call = callOf()) =>
    events.wait({ topic: TOPIC, timeout: 0, ack: true, max: 100, ...args }, call)
  const emit = async (data: number, topic = TOPIC) => (await events.emit({ topic, data }, callOf())).id
  const subscribe = (args: object = {}, call: Call = callOf()) =>
    events.subscribe({ topic: TOPIC, replay: false, ...args }, call)
  return { ...events, publish: events.emit, store, wait, emit, subscribe, deliveries }
}

const stage = async (t: TestContext) => eventsOn(await openStore(t))

/** Starts the worker that invokes the skills of subscriptions. */
function startRunner(t: TestContext, store: Store, invoke: (ref: string, data: unknown) => unknown) {
  const parts = {
    ...partsOf(store),
    settings: createGroupSettings(store, () => undefined),
    invoke: async ({ ref, event }: SubscriptionJob) => invoke(ref, Object(event).data),
  }
  return begin(t, createSubscriptionRunner(parts))
}

/** Trims the topic to its newest event. */
async function trimToOne(store: Store): Promise<void> {
  const policy = { journal: { maxAge: LONG, maxCount: 10 }, topics: { [TOPIC]: { maxCount: 1 } } }
  while ((await store.trim(policy)).removed > 0);
}

const dataOf = (events: readonly { data: unknown }[]) => events.map(({ data }) => data)
const operator: Caller = { kind: 'http', roles: ['operator'] }

describe('events', () => {
  test('a wait without a group returns later events only', async (t) => {
    const { emit, wait } = await stage(t)
    await emit(1)
    assert.deepEqual(await wait({ timeout: 10 }), [])
    const waiting = wait({ timeout: LONG })
    let isOver = false
    void waiting.finally(() => {
      isOver = true
    })
    // The first of these events may come before the wait begins.
    let n = 1
    await until(async () => {
      await emit(++n)
      return isOver
    }, 'an event')
    const [event] = await waiting
    assert.ok(Number(event?.data) >= 2)
  })

  test('the first wait creates a named group, which then misses nothing', async (t) => {
    const { emit, wait } = await stage(t)
    assert.deepEqual(await wait({ queue: 'new' }), [])
    await emit(1)
    assert.deepEqual(dataOf(await wait({ queue: 'new' })), [1])
  })

  test('have the given type, and their publisher as the source', async (t) => {
    const { publish, wait } = await stage(t)
    const program: Caller = { kind: 'http', id: 'token:worker', skills: ['event-emit'] }
    const message = messageOf({ gateway: 'demo' })
    const calls: [string, Partial<Call>][] = [
      ['summarize', { by: 'summarize', message }],
      ['demo', { message }],
      ['token:worker', { caller: program }],
      ['cli', { caller: { kind: 'cli', id: 'ada@host', roles: ['operator'] } }],
      ['schedule:1', { caller: { kind: 'code', id: 'schedule:1' } }],
    ]
    await wait({ queue: 'q' })
    for (const [, call] of calls)
      await publish({ topic: TOPIC, type: 'x', data: 1 }, callOf({ skill: 'event-emit', ...call }))
    const events = await wait({ queue: 'q' })
    assert.deepEqual(
      events.map(({ type, source }) => [type, source]),
      calls.map(([source]) => ['x', source]),
    )
  })

  test('on the topics of replies and logs cannot be read or written', async (t) => {
    const { ack, emit, subscribe, unsubscribe, wait } = await stage(t)
    const topic = 'replies/chat/ada'
    for (const attempt of [
      emit(1, topic),
      subscribe({ topic }),
      subscribe({ topic, queue: 'q' }),
      unsubscribe({ topic, queue: 'q' }, callOf()),
      wait({ topic }),
      wait({ topic: 'trivium/log' }),
      wait({ topic: 'trivium/late-answers' }),
      ack({ topic, queue: 'q', ids: ['x'], nack: false, delay: 0 }, callOf({ caller: operator })),
    ]) {
      await assert.rejects(attempt, { code: 'topic_reserved' })
    }
  })

  test('that were removed unread are reported once, as a gap with their number', async (t) => {
    const { subscribe, emit, wait, store } = await stage(t)
    const call = callOf({ rootId: 'behind' })
    await subscribe({}, call)
    for (const n of [1, 2, 3]) await emit(n)
    await trimToOne(store)
    const [gap, ...rest] = await wait({}, call)
    assert.deepEqual([gap?.type, gap?.data], ['gap', { missed: 2 }])
    assert.deepEqual(dataOf(rest), [3])
    await emit(4)
    assert.deepEqual(dataOf(await wait({}, call)), [4])
  })

  test('that were removed unread are reported by every peek until the gap is acknowledged', async (t) => {
    const { ack, subscribe, emit, wait, store } = await stage(t)
    await subscribe({ queue: 'peeks' })
    for (const n of [1, 2, 3]) await emit(n)
    await trimToOne(store)
    await emit(4)
    const peek = () => wait({ queue: 'peeks', ack: false })
    const peeked = await peek()
    assert.deepEqual([peeked[0]?.type, dataOf(peeked)], ['gap', [{ missed: 2 }, 3, 4]])
    assert.deepEqual(await peek(), peeked)
    const ids = peeked.slice(0, 2).map(({ id }) => id)
    assert.deepEqual(await ack({ topic: TOPIC, queue: 'peeks', ids, nack: false, delay: 0 }, callOf()), {
      count: 2,
    })
    assert.deepEqual(dataOf(await peek()), [4])
  })

  test('of the own group of a caller can be read only by it and by operators', async (t) => {
    const { subscribe, unsubscribe, emit, wait } = await stage(t)
    const mine = callOf({ rootId: 'mine' })
    const { queue } = await subscribe({}, mine)
    assert.equal(queue, '~mine')
    await emit(1)
    const other = callOf({ rootId: 'other' })
    for (const attempt of [
      wait({ queue }, other),
      subscribe({ queue }, other),
      unsubscribe({ topic: TOPIC, queue }, other),
    ]) {
      await assert.rejects(attempt, { code: 'forbidden' })
    }
    assert.deepEqual(dataOf(await wait({ queue, ack: false }, callOf({ caller: operator }))), [1])
    assert.deepEqual(dataOf(await wait({}, mine)), [1])
    assert.deepEqual(await wait({ queue }, mine), [])
  })

  test('the own group of a caller ends with its message', async (t) => {
    const { subscribe, releaseOwn, store } = await stage(t)
    await subscribe({}, callOf({ rootId: 'm1', depth: 1 }))
    await subscribe({ queue: 'named' }, callOf({ rootId: 'm1' }))
    await releaseOwn('m1')
    const left = (await store.topics.groups(TOPIC)).map(({ group }) => group)
    assert.deepEqual(left, ['named'])
  })

  test('are not consumed for a caller that disconnected', async (t) => {
    const { subscribe, emit, wait } = await stage(t)
    await subscribe({ queue: 'q' })
    const caller = new AbortController()
    const waiting = wait({ queue: 'q', timeout: LONG }, callOf({ signal: caller.signal }))
    await wait({ queue: 'q' })
    caller.abort()
    await emit(1)
    assert.deepEqual(await waiting, [])
    assert.deepEqual(dataOf(await wait({ queue: 'q' })), [1])
  })
})

describe('a subscription with a ref', () => {
  test('invokes the skill for each event in order, retries after a failure, and ends by unsubscribe', async (t) => {
    const { subscribe, unsubscribe, emit, store } = await stage(t)
    const seen: unknown[] = []
    startRunner(t, store, (_ref, n) => {
      seen.push(n)
      if (seen.length === 1) throw new Error('once')
    })
    await subscribe({ queue: 'q', ref: 'work' })
    await emit(1)
    await emit(2)
    await until(() => seen.length === 3, 'three runs')
    assert.deepEqual(seen, [1, 1, 2])
    assert.deepEqual(await unsubscribe({ topic: TOPIC, queue: 'q', ref: 'another' }, callOf()), { ok: false })
    assert.equal((await store.topics.groups(TOPIC)).length, 1)
    assert.deepEqual(await unsubscribe({ topic: TOPIC, queue: 'q', ref: 'work' }, callOf()), { ok: true })
    assert.equal((await store.topics.groups(TOPIC)).length, 0)
    await emit(3)
    await untilEmpty(store, 'subscriptions')
    assert.equal(seen.length, 3)
  })

  test('continues after a restart with the events since, and can be changed while it runs', async (t) => {
    const { subscribe, unsubscribe, emit, store } = await stage(t)
    await subscribe({ queue: 'q', ref: 'work' })
    await emit(1)
    const seen: unknown[] = []
    startRunner(t, store, (ref, n) => seen.push([ref, n]))
    await until(() => seen.length === 1, 'the event')
    assert.deepEqual(seen, [['work', 1]])
    await unsubscribe({ topic: TOPIC, queue: 'q' }, callOf())
    await subscribe({ queue: 'q', ref: 'other' })
    await until(async () => {
      await emit(2)
      return seen.some((run) => String(run).startsWith('other'))
    }, 'the other skill')
  })

  test('of an own group outlives the caller', async (t) => {
    const { subscribe, releaseOwn, store } = await stage(t)
    await subscribe({ ref: 'work' }, callOf({ rootId: 'm1', depth: 1 }))
    await releaseOwn('m1')
    const left = (await store.topics.groups(TOPIC)).map(({ group }) => group)
    assert.deepEqual(left, ['~ref:work:'])
  })

  test('makes a dead letter of an event whose skill fails permanently', async (t) => {
    const { subscribe, emit, store } = await stage(t)
    startRunner(t, store, () => {
      throw new TriviumError('skill_not_found', { name: 'work', hint: '' })
    })
    await subscribe({ queue: 'q', ref: 'work' })
    const id = await emit(1)
    const letter = await until(
      async () => (await store.jobs.deadLetters.list({ limit: 9 })).items[0],
      'the dead letter',
    )
    assert.ok(letter.id.startsWith(`${TOPIC}/q/${id}`))
    assert.equal(letter.reason, 'permanent')
  })
})

describe('a group with a match', () => {
  test('gives its readers only events that match, and acknowledges the others', async (t) => {
    const { subscribe, wait, publish, store } = await stage(t)
    const match = { event: ['paid'] }
    await subscribe({ queue: 'books', match })
    const emit = (type: string, n: number) => publish({ topic: TOPIC, type, data: n }, callOf())
    for (const n of [1, 2, 3, 4]) await emit(n % 2 === 0 ? 'paid' : 'sent', n)
    assert.deepEqual(dataOf(await wait({ queue: 'books', ack: false })), [2, 4])
    assert.deepEqual(dataOf(await wait({ queue: 'books', ack: false, match })), [2, 4])
    await assert.rejects(wait({ queue: 'books', match: { event: ['sent'] } }), { code: 'group_filter' })
    const [group] = await store.topics.groups(TOPIC)
    assert.deepEqual([group?.lag, group?.pending], [1, 1], 'events 1 and 3 are acknowledged')
    assert.deepEqual(dataOf(await wait({ queue: 'books' })), [2, 4])
    const waiting = wait({ queue: 'books', timeout: LONG })
    await emit('sent', 5)
    await emit('paid', 6)
    assert.deepEqual(dataOf(await waiting), [6])
    await subscribe({ queue: 'books', match: {} })
    await emit('sent', 7)
    assert.deepEqual(dataOf(await wait({ queue: 'books' })), [7])
  })

  test('is created by a wait with a match', async (t) => {
    const { wait, publish } = await stage(t)
    const match = { event: ['paid'] }
    assert.deepEqual(await wait({ queue: 'new', match }), [])
    await publish({ topic: TOPIC, type: 'sent', data: 1 }, callOf())
    await publish({ topic: TOPIC, type: 'paid', data: 2 }, callOf())
    assert.deepEqual(dataOf(await wait({ queue: 'new' })), [2])
  })

  test('is not needed: a wait without a group also uses its match', async (t) => {
    const { wait, publish } = await stage(t)
    const waiting = wait({ match: { event: ['paid'] }, timeout: LONG, max: 2 })
    let isOver = false
    void waiting.finally(() => {
      isOver = true
    })
    let n = 0
    await until(async () => {
      n += 1
      await publish({ topic: TOPIC, type: n % 7 === 0 ? 'paid' : 'sent', data: n }, callOf())
      return isOver
    }, 'a matching event')
    for (const data of dataOf(await waiting)) assert.equal(Number(data) % 7, 0)
  })
})

test('the history of a group is that of a time', async (t) => {
  const { past, groups, subscribe } = await stage(t)
  await subscribe({ queue: 'audit' })
  const begun = Date.now()
  await past.sample()
  await until(() => Date.now() > begun, 'the next millisecond')
  const points = async (range: object) => {
    const [group] = await groups({ history: true, ...range })
    return group?.history?.map(({ lag, perMinute }) => ({ lag, perMinute }))
  }
  assert.deepEqual(await points({ since: begun }), [{ lag: 0, perMinute: 0 }])
  assert.deepEqual(await points({ until: begun }), [])
  assert.deepEqual(await points({ since: Date.now() + 1 }), [])
})
