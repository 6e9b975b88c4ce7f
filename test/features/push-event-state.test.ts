import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/core/store.ts'
import { MINUTE } from '../../src/core/units.ts'
import { eventStateOf } from '../../src/features/push/event-state.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { openStore } from '../runtime/support/store.ts'
import { emit, subscription } from './push-kit.ts'

const QUEUE = 'push/crm'

/** Makes dead letters with these ids. Later calls make newer ones. */
async function die({ jobs }: Store, ids: readonly string[]) {
  await jobs.add(
    QUEUE,
    ids.map((id) => ({ id, lane: id, group: 'crm', data: { event: { id } } })),
  )
  const error = { at: Date.now(), code: 'push_failed', message: 'it answered 503' }
  const { items } = await jobs.claim(QUEUE, { max: ids.length, lease: MINUTE })
  assert.equal(items.length, ids.length)
  await jobs.settle(
    QUEUE,
    items.map(({ id, token }) => ({ id, token, outcome: 'dead', reason: 'attempts', error })),
  )
}

test('an event of a cancelled replay that is replayed again waits, in the topic or as a job', async (t) => {
  const store = await openStore(t)
  const push = subscription('http://127.0.0.1:9')
  await store.topics.subscribe(push.topic, push.name, 'start')
  const id = await emit(store)
  const retained = (await store.topics.tail(push.topic, 0, 1)).items[0]?.event
  assert.ok(retained)
  const rounds = [1, 2, 3].map((each) => Date.now() + each * MINUTE)
  const [first = 0, second = 0, third = 0] = rounds
  const replays = async () => rounds.map((startedAt, at) => ({ id: `job-${at}`, startedAt }))
  const withdrawn = { at: first + 5, by: 'ada' }
  const failed = { at: first, since: first, reason: 'it answered 503', withdrawn }
  const stateOf = (attempts: object[]) => eventStateOf(store, push, { id, attempts, retained, replays })
  await store.topics.ack(push.topic, push.name, [id])
  assert.deepEqual(await stateOf([failed]), { state: 'withdrawn', ...withdrawn })
  await store.topics.restore(push.topic, push.name, id, second)
  assert.deepEqual(await stateOf([failed]), { state: 'waiting', since: second, job: 'job-1' })
  const accepted = { at: first - 5 }
  const again = { since: second, job: 'job-1' }
  assert.deepEqual(await stateOf([failed, accepted]), { state: 'delivered', at: first - 5, again })
  assert.deepEqual(await stateOf([{ ...accepted, at: second, since: second }]), {
    state: 'delivered',
    at: second,
  })
  await store.topics.ack(push.topic, push.name, [id])
  assert.deepEqual(await stateOf([failed]), { state: 'withdrawn', ...withdrawn })
  await store.jobs.add(QUEUE, [
    { id: `${QUEUE}/${id}.${third}`, lane: id, group: 'crm', data: { event: { id } } },
  ])
  assert.deepEqual(await stateOf([failed]), { state: 'waiting', since: third, job: 'job-2' })
})

test('an event that was not sent is not read, also if later events of the topic were done', async (t) => {
  const store = await openStore(t)
  const push = subscription('http://127.0.0.1:9')
  await store.topics.subscribe(push.topic, push.name, 'start')
  const ids = [await emit(store), await emit(store)]
  const [id = '', later = ''] = ids
  const retained = (await store.topics.tail(push.topic, 0, 1)).items[0]?.event
  assert.equal(retained?.id, id)
  const stateOf = () => eventStateOf(store, push, { id, attempts: [], ...(retained && { retained }) })
  // A later event that the filter excludes is done while the receiver fails.
  await store.topics.ack(push.topic, push.name, [later], { areRead: true })
  assert.deepEqual(await stateOf(), { state: 'unread' })
  const records = createRecords(store.kv, push.name)
  const nextAt = Date.now() + MINUTE
  const attempts = [{ event: 'other', reason: 'it answered 503', at: 1, attempt: 1 }]
  await store.kv.set('trivium:push:crm:report', { failures: 99, openUntil: nextAt, attempts })
  assert.deepEqual(await stateOf(), { state: 'unread', held: 'failing', nextAt })
  await store.topics.ack(push.topic, push.name, [id])
  // A job has the round of its delivery: that of the group, unless it is a replay.
  const round = await store.topics.roundOf(push.topic, push.name)
  const job = { id: `${QUEUE}/${id}.${round}`, lane: id, group: 'crm', data: { event: { id } } }
  await store.jobs.add(QUEUE, [job])
  const { nextAt: due = 0, ...queued } = Object(await stateOf())
  assert.deepEqual(queued, { state: 'queued', held: 'failing' })
  assert.ok(due >= nextAt)
  await records.change((control) => ({ ...control, stopped: { why: 'paused', by: 'ada' } }))
  assert.deepEqual(await stateOf(), { state: 'queued', held: 'paused' })
})

/** The same store, and what is read from all of its dead letters and jobs. */
function watched(store: Store) {
  const reads: string[] = []
  const deadLetters: Store['jobs']['deadLetters'] = {
    ...store.jobs.deadLetters,
    ids() {
      reads.push('ids')
      return store.jobs.deadLetters.ids()
    },
    get(...args) {
      reads.push('get')
      return store.jobs.deadLetters.get(...args)
    },
  }
  const jobs: Store['erasing']['jobs'] = (...args) => {
    reads.push('jobs')
    return store.erasing.jobs(...args)
  }
  return {
    reads,
    store: { ...store, jobs: { ...store.jobs, deadLetters }, erasing: { ...store.erasing, jobs } },
  }
}

test('the state of an event is found without reading the jobs and dead letters of others', async (t) => {
  const opened = await openStore(t)
  const { store, reads } = watched(opened)
  const push = subscription('http://127.0.0.1:9')
  await store.topics.subscribe(push.topic, push.name, 'start')
  const ids = [await emit(store), await emit(store), await emit(store), await emit(store)]
  const [delivered = '', dead = '', behind = '', unreadAtReplay = ''] = ids
  const events = (await store.topics.tail(push.topic, 0, 9)).items.map(({ event }) => event)
  await store.topics.ack(push.topic, push.name, ids)
  const round = (await store.topics.roundOf(push.topic, push.name)) ?? 0
  assert.ok(round > 0)
  const replayedAt = Date.now() + MINUTE
  const stateOf = (id: string, attempts: object[] = []) =>
    eventStateOf(store, push, {
      id,
      attempts,
      retained: events.find((event) => event.id === id),
      replays: async () => [{ id: 'job-1', startedAt: replayedAt }],
    })
  await die(store, [`${QUEUE}/${dead}.${round}`])
  const jobOf = (id: string, lane: string) => ({ id, lane, group: 'crm', data: { event: { id: lane } } })
  await store.jobs.add(QUEUE, [
    jobOf(`${QUEUE}/${behind}.${round}`, behind),
    // The push had not read this event when the replay began.
    jobOf(`${QUEUE}/${unreadAtReplay}.0${replayedAt}`, unreadAtReplay),
  ])
  assert.deepEqual(await stateOf(delivered, [{ at: 5 }]), { state: 'delivered', at: 5 })
  assert.deepEqual(reads, [])
  const letter = { state: 'dead', deadLetter: `${QUEUE}/${dead}.${round}` }
  assert.deepEqual(await stateOf(dead, [{ at: 5, reason: 'it answered 503', isDead: true }]), letter)
  assert.deepEqual(await stateOf(behind), { state: 'queued' })
  assert.deepEqual(await stateOf(unreadAtReplay), { state: 'queued' })
  assert.equal((await stateOf(behind, [{ at: 5, reason: 'it answered 503', nextAt: 9 }])).state, 'retrying')
  assert.deepEqual(
    reads.filter((read) => read !== 'get'),
    [],
  )
})

test('an event that was delivered again is delivered, although its older dead letter is kept', async (t) => {
  const store = await openStore(t)
  const id = await emit(store)
  await die(store, [`${QUEUE}/${id}`])
  const since = Date.now() + MINUTE
  const attempts = [
    { at: since + 5, since },
    { at: 5, reason: 'it answered 503', isDead: true },
  ]
  const push = subscription('http://127.0.0.1:9')
  assert.deepEqual(await eventStateOf(store, push, { id, attempts }), { state: 'delivered', at: since + 5 })
})

test('the dead letter of an event is found among any number of newer ones, also of a replay', async (t) => {
  const store = await openStore(t)
  const [first, replayed] = [await emit(store), await emit(store)]
  const round = Date.now()
  await die(store, [`${QUEUE}/${first}`, `${QUEUE}/${replayed}.${round}`])
  await die(
    store,
    Array.from({ length: 1_001 }, (_, at) => `${QUEUE}/newer-${at}`),
  )
  const stateOf = (id: string, attempts: object[]) =>
    eventStateOf(store, subscription('http://127.0.0.1:9'), { id, attempts })
  const failed = { at: round, reason: 'it answered 503', isDead: true }
  assert.deepEqual(await stateOf(first, [failed]), { state: 'dead', deadLetter: `${QUEUE}/${first}` })
  const dead = { state: 'dead', deadLetter: `${QUEUE}/${replayed}.${round}` }
  assert.deepEqual(await stateOf(replayed, [{ ...failed, since: round }]), dead)
  // The attempts of an old replay are no longer kept.
  assert.deepEqual(await stateOf(replayed, []), dead)
  await store.jobs.deadLetters.drop(`${QUEUE}/${first}`)
  assert.deepEqual(await stateOf(first, [failed]), { state: 'removed' })
})
