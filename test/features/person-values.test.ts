import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Json, type JsonObject, toJson } from '../../src/core/json.ts'
import { MINUTE } from '../../src/core/units.ts'
import { createWithdrawnEvents, hasMore, MAX_WITHDRAWN } from '../../src/engine/withdrawn-events.ts'
import { createPauseRecords } from '../../src/features/pauses/records.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createRecordsPlace } from '../../src/features/person/record-place.ts'
import { createValuePlaces } from '../../src/features/person/value-places.ts'
import { createRecords } from '../../src/features/push/records.ts'
import { createStoredSubscriptions } from '../../src/features/push/stored-subscriptions.ts'
import { trafficIn } from '../../src/features/push/traffic-range.ts'
import { usageOfPerson } from '../../src/features/usage/forget-person.ts'
import { createMemoryBackend, type StateEntry } from '../../src/runtime/state/backends.ts'

const OWN_MESSAGE = '019a0000-0000-7000-8000-000000000001'
const OTHER_MESSAGE = '019a0000-0000-7000-8000-000000000002'
const ADA: Person = {
  identities: ['chat:ada', 'chat:U1', 'mail:ada@example.com'],
  messages: new Set([OWN_MESSAGE]),
  conversations: new Set(['chat/of-ada']),
  files: new Set(),
}
const about = createReferences(
  ADA,
  createIdentities(ADA.identities, () => false),
)
const subject = { person: ADA, about }

/** The values of Trivium and of skills in memory, and the erasure of Ada from them. */
function openValues() {
  const backend = () => createMemoryBackend(Date.now, new Map<string, StateEntry>())
  const kv = backend()
  const backends = () => ({ file: backend(), memory: backend(), shared: backend() })
  const values = { state: backends(), sessions: backends() }
  const records = createRecordsPlace(kv, usageOfPerson, async (found) => [...found])
  const places = [records, ...createValuePlaces(values)]
  return {
    kv,
    sessions: values.sessions.shared,
    /** What an export has about Ada. */
    async records() {
      const found: Json[] = []
      for (const place of places) for await (const record of place.records(subject)) found.push(record)
      return found
    },
    /** What is counted of Ada in the records. */
    tally: () => records.tally(subject, new AbortController().signal),
    /** Erases Ada; returns the number of erased values. */
    async erase() {
      let erased = 0
      for (const place of places) for await (const { count } of place.erase(subject)) erased += count
      return erased
    },
  }
}

test('the records of a person are counted by kind, and those that are open are named', async () => {
  const { kv, tally } = openValues()
  const message = { id: OWN_MESSAGE, gateway: 'chat', conversation: 'of-ada', from: 'ada' }
  const asked = { title: 'Refund 1240.00 EUR · order 4890', message }
  await kv.set('approval:a1', { ...asked, id: 'a1', status: 'pending' })
  await kv.set('approval:a2', { ...asked, id: 'a2', status: 'approved' })
  await kv.set(`approval-open:chat:ada`, true)
  const planned = { message, at: 7, sending: { key: 'k1', text: 'Your parcel\nis here' } }
  await kv.set('send-later:k1', { ...planned, state: 'waiting' })
  await kv.set('send-later:k2', { ...planned, state: 'sent' })
  await kv.set('call:pay', { key: 'pay', state: 'unknown', by: 'chat:ada', time: '', error: 'gone' })
  await kv.set(`run:${OWN_MESSAGE}/1`, {})
  await kv.set('pauses', {
    cancels: [],
    pauses: [
      { kind: 'conversation', gateway: 'chat', name: 'of-ada', since: 1, by: 'oidc:ingrid' },
      { kind: 'conversation', gateway: 'chat', name: 'of-bob', since: 1, by: 'chat:ada' },
    ],
  })
  const { count, kinds, open } = await tally()
  assert.equal(count, 8)
  assert.deepEqual(kinds, {
    approvals: 2,
    'index entries': 1,
    'planned messages': 2,
    'calls with ctx.once': 1,
    'steps of model runs': 1,
    'pauses and take-overs': 1,
  })
  const byKind = open.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
  assert.deepEqual(byKind, [
    { kind: 'approvals', title: 'Refund 1240.00 EUR · order 4890', id: 'a1' },
    { kind: 'calls', title: 'pay', id: 'pay' },
    { kind: 'conversations', gateway: 'chat', conversation: 'of-ada', by: 'oidc:ingrid' },
    {
      kind: 'planned messages',
      title: 'Your parcel is here',
      id: 'k1',
      at: 7,
      gateway: 'chat',
      conversation: 'of-ada',
    },
  ])
})

test('a schedule stays paused after the erasure of the person who paused it', async () => {
  const { kv, erase } = openValues()
  const pause = { since: 1, until: 9, by: 'chat:ada', reason: 'chat:ada is away' }
  await kv.set('schedules-paused', {
    nightly: pause,
    'chat:ada/digest': pause,
    weekly: { since: 2, by: 'bob' },
  })
  await erase()
  const rest = (await kv.get('schedules-paused'))?.value ?? null
  assert.equal(about.refersTo(rest), false, JSON.stringify(rest))
  assert.partialDeepStrictEqual(rest, { nightly: { since: 1, until: 9 }, weekly: { since: 2, by: 'bob' } })
  assert.equal(Object(rest)['chat:ada/digest'], undefined)
  assert.equal(await erase(), 0, 'a second erasure finds nothing')
})

describe('pauses and cancellations, after the erasure of a person', () => {
  const other = { kind: 'conversation', gateway: 'chat', name: 'of-bob', since: 1, by: 'chat:bob' }
  const cancel = { messageId: OTHER_MESSAGE, reason: 'wrong customer', by: 'chat:bob', at: 1 }

  /** Erases Ada, checks that nothing about her remains, and returns what does. */
  async function erasedFrom(pauses: Json[], cancels: Json[]) {
    const { kv, erase } = openValues()
    await kv.set('pauses', { pauses, cancels })
    await erase()
    const rest = toJson(await createPauseRecords(kv).load())
    assert.equal(about.refersTo(rest), false, JSON.stringify(rest))
    assert.equal(await erase(), 0, 'a second erasure finds nothing')
    return Object(rest)
  }

  test('name the person neither as the author nor in the reason', async () => {
    const { pauses, cancels } = await erasedFrom(
      [
        { ...other, reason: 'chat:ada asked' },
        { ...other, kind: 'skill', name: 'pay', by: 'chat:ada' },
      ],
      [
        { ...cancel, reason: 'asked by chat:ada' },
        { ...cancel, by: 'chat:ada' },
      ],
    )
    assert.deepEqual(
      [...pauses, ...cancels].map(({ by, reason }) => [by, reason]),
      [
        ['chat:bob', 'named an erased person'],
        ['an erased person', undefined],
        ['chat:bob', 'named an erased person'],
        ['an erased person', 'wrong customer'],
      ],
    )
  })

  test('do not have the address of the person in the reason; an export shows it', async () => {
    const { kv, records, erase } = openValues()
    const asked = { ...other, reason: 'ada@example.com asked' }
    await kv.set('pauses', { pauses: [other, asked], cancels: [cancel] })
    assert.deepEqual(await records(), [{ key: 'pauses', parts: [asked] }])
    assert.equal(await erase(), 1)
    const { pauses } = await createPauseRecords(kv).load()
    assert.deepEqual(
      pauses.map(({ reason }) => reason),
      [undefined, 'named an erased person'],
    )
    assert.equal(await erase(), 0)
  })

  test('do not have the id of the person without its gateway', async () => {
    const { pauses } = await erasedFrom([{ ...other, by: 'U1' }], [])
    assert.deepEqual(pauses, [{ ...other, by: 'an erased person' }])
  })

  test('are removed if they are about a conversation or message of the person', async () => {
    const rest = await erasedFrom(
      [{ ...other, name: 'of-ada' }, { ...other, name: 'chat:ada' }, other],
      [{ ...cancel, messageId: OWN_MESSAGE }, cancel],
    )
    assert.deepEqual(rest, { pauses: [other], cancels: [cancel] })
  })
})

describe('push subscriptions, after the erasure of a person', () => {
  const given = { topic: 'orders', url: 'https://shop.example/hook', secret: 'whsec' }

  test('stay paused, without the name of the operator', async () => {
    const { kv, erase } = openValues()
    const stopped = { why: 'paused', at: 1 } as const
    // The key of the second one looks like that of a report.
    for (const name of ['shop', 'report']) {
      const control = createRecords(kv, name)
      await control.change((known) => ({ ...known, stopped: { ...stopped, by: 'chat:ada' } }))
      assert.equal(await erase(), 1)
      assert.deepEqual((await control.control()).stopped, { ...stopped, by: 'an erased person' }, name)
      assert.equal(await erase(), 0)
    }
  })

  test('keep their settings, without the name of the creator; an export has no settings', async () => {
    const { kv, records, erase } = openValues()
    const stored = createStoredSubscriptions(kv)
    const ofBob = { given, by: 'chat:bob', at: 1 }
    await stored.change(() => ({ shop: { given, by: 'chat:ada', at: 1 }, depot: ofBob }))
    assert.deepEqual(await records(), [
      { key: 'trivium:push-made', parts: [{ shop: { by: 'chat:ada', at: 1 } }] },
    ])
    assert.equal(await erase(), 1)
    assert.deepEqual(
      { ...(await stored.all()) },
      { shop: { given, by: 'an erased person', at: 1 }, depot: ofBob },
    )
    assert.equal(await erase(), 0)
  })
})

test('the causes of failed pushes keep their numbers when one that names a person is erased', async () => {
  const { kv, erase } = openValues()
  const { setTraffic, traffic } = createRecords(kv, 'shop')
  const causes = { 0: { text: 'chat:ada is gone', lastAt: 1 }, 1: { text: 'full', lastAt: 1 } }
  const bucket = { at: 0, delivered: 0, failed: 3, causes: { 0: 1, 1: 2 } }
  await setTraffic({ from: 0, causes, minutes: [bucket], quarters: [bucket] })
  assert.equal(await erase(), 1)
  const left = trafficIn(await traffic(0), 0, MINUTE)
  assert.deepEqual(left.causes, [
    { text: 'full', count: 2, lastAt: 1 },
    { text: 'other causes', count: 1 },
  ])
})

test('the letters that a job retried stay, without those of an erased person', async () => {
  const { kv, erase } = openValues()
  const other = [`${OTHER_MESSAGE}:all`, 'dispatch', OTHER_MESSAGE]
  const own = [`${OWN_MESSAGE}:all`, 'dispatch', OWN_MESSAGE]
  await kv.set('retried-letters:1', [other, own])
  await kv.set('retried-letters:2', [own])
  assert.equal(await erase(), 2)
  assert.deepEqual((await kv.get('retried-letters:1'))?.value, [other])
  assert.equal(await kv.get('retried-letters:2'), undefined)
})

test('the events that a replay withdrew stay known, without those of an erased person', async () => {
  const { kv, erase } = openValues()
  const third = '019a0000-0000-7000-8000-000000000003'
  const withdrawn = createWithdrawnEvents(kv, 'trivium:push:shop')
  const leftOut = createWithdrawnEvents(kv, 'trivium:replay:gateway-message/crm', 'left-out')
  await withdrawn.add(7, [OWN_MESSAGE, OTHER_MESSAGE, third], () => '0.0')
  await leftOut.add(7, [OWN_MESSAGE], () => '0.0')
  assert.equal(await erase(), 2)
  const known = await withdrawn.of(7)
  assert.deepEqual(known, { from: OTHER_MESSAGE, to: third, ids: [OTHER_MESSAGE, third], erased: 1 })
  assert.deepEqual(await leftOut.of(7), { ids: [], erased: 1 })
  assert.equal(await erase(), 0, 'a second erasure finds nothing')
})

test('withdrawn events beyond those that can be replayed separately stay known after an erasure', async () => {
  const { kv, erase } = openValues()
  const ids = Array.from({ length: MAX_WITHDRAWN + 2 }, (_, n) => `b${String(n).padStart(5, '0')}`)
  const withdrawn = createWithdrawnEvents(kv, 'trivium:push:shop')
  await withdrawn.add(7, [OWN_MESSAGE, ...ids], () => '0.0')
  assert.equal(await erase(), 1)
  const known = await withdrawn.of(7)
  assert.ok(known && hasMore(known))
  assert.deepEqual(await withdrawn.among(7, [OWN_MESSAGE, ...ids], () => '0.0'), new Set(ids))
})

test('saved views that look for an erased person are removed, and those of others stay', async () => {
  const { kv, records, erase } = openValues()
  const view = { list: 'messages', name: 'Lost', query: { search: 'status:dead' }, by: 'chat:bob', at: 1 }
  const about = { ...view, name: 'Ada', query: { search: 'from:ada@example.com' } }
  const named = { ...view, name: 'Mail of ada@example.com' }
  const ofAda = { ...view, list: 'audit', by: 'chat:ada' }
  await kv.set('saved-views', { views: [view, about, named, ofAda] })
  assert.deepEqual(await records(), [{ key: 'saved-views', parts: [about, named, ofAda] }])
  await erase()
  assert.deepEqual((await kv.get('saved-views'))?.value, {
    views: [view, { ...ofAda, by: 'an erased person' }],
  })
})

describe('acknowledgements of troubles, after the erasure of a person', () => {
  const key = 'gateway-down gateway=support'
  const one = { key, at: 1, by: 'chat:bob', count: 1, severity: 'error', seenAt: 1 }

  async function erasedFrom(acknowledgements: Json[]) {
    const { kv, records, erase } = openValues()
    await kv.set('troubles-acknowledged', { acknowledgements })
    const exported = await records()
    await erase()
    assert.equal(await erase(), 0, 'a second erasure finds nothing')
    return { exported, rest: Object((await kv.get('troubles-acknowledged'))?.value).acknowledgements }
  }

  test('those of others stay', async () => {
    const ofAda = { ...one, key: 'disk-low', by: 'chat:ada' }
    const { exported, rest } = await erasedFrom([one, ofAda])
    assert.deepEqual(exported, [{ key: 'troubles-acknowledged', parts: [ofAda] }])
    assert.deepEqual(rest, [one, { ...ofAda, by: 'an erased person' }])
  })

  test('do not name the person in the reason', async () => {
    const { rest } = await erasedFrom([one, { ...one, reason: 'calling ada@example.com' }])
    assert.deepEqual(rest, [one, { ...one, reason: 'named an erased person' }])
  })

  test('are removed if the trouble names the person', async () => {
    const about = { ...one, key: 'dead-letters pattern=no mailbox ada@example.com' }
    assert.deepEqual((await erasedFrom([one, about])).rest, [one])
    assert.deepEqual((await erasedFrom([{ ...one, key: `attempt-hangs ${OWN_MESSAGE}` }, one])).rest, [one])
  })
})

describe('a session of several people, after the erasure of one of them', () => {
  test('keeps the entry of another person, without the summary that names the erased one', async () => {
    const { sessions, erase } = openValues()
    const entry = { at: 2, args: { text: 'from bob' } }
    const summarized = { ...entry, dropped: 3, summary: 'chat:ada asked for a refund' }
    await sessions.set('team', { session: 'chat/all', entries: [summarized] })
    assert.equal(await erase(), 1)
    const { entries } = Object((await sessions.get('team'))?.value)
    assert.deepEqual(entries, [{ ...entry, dropped: 3 }])
    assert.equal(await erase(), 0)
  })

  test('has lost their entries, and what was derived from all', async () => {
    const { sessions, erase } = openValues()
    const entry = { at: 2, args: { text: 'from bob' } }
    await sessions.set('team', {
      session: 'chat/all',
      entries: [
        { at: 1, args: { text: 'from ada', by: 'chat:ada' }, summary: 'everybody said hello' },
        { ...entry, agent: ['hello'] },
      ],
    })
    assert.equal(await erase(), 1)
    assert.deepEqual(Object((await sessions.get('team'))?.value).entries, [entry])
  })
})

describe('the runs of a schedule, after the erasure of a person', () => {
  test('still fail, without an error that names the person', async () => {
    const { kv, records, erase } = openValues()
    const error = '550 The mailbox ada@example.com does not exist'
    const failing = {
      first: '1',
      lastJob: '2',
      id: 'nightly',
      name: 'nightly',
      skill: 'mail',
      since: 1,
      count: 2,
    }
    await kv.set('schedule-failing:nightly:then', { ...failing, error })
    const others = { ...failing, error: '550 The mailbox bob@example.com does not exist' }
    await kv.set('schedule-failing:weekly:then', others)
    const [record] = await records()
    assert.deepEqual(Object(record).parts, [error])
    assert.equal(await erase(), 1)
    const left = ['nightly', 'weekly'].map((id) => kv.get(`schedule-failing:${id}:then`))
    assert.deepEqual(
      (await Promise.all(left)).map((entry) => entry?.value),
      [{ ...failing, error: 'named an erased person' }, others],
    )
    assert.equal(await erase(), 0)
  })

  test('have no result or error that names the person; an export shows it', async () => {
    const { kv, records, erase } = openValues()
    const long = `${'x'.repeat(1_000)} ada@example.com ${'x'.repeat(900)}`
    const run = { planned: 2, startedAt: 2, endedAt: 3, outcome: 'done' }
    await kv.set('schedule-report:nightly:then', {
      ...run,
      result: 'asked by chat:ada',
      earlier: [
        { ...run, planned: 1, result: long },
        { ...run, planned: 0, result: 'three orders', manual: true, by: 'chat:ada' },
      ],
    })
    const [record] = await records()
    assert.deepEqual(Object(record).parts, ['asked by chat:ada', long, 'chat:ada'])
    await erase()
    assert.deepEqual((await kv.get('schedule-report:nightly:then'))?.value, {
      ...run,
      earlier: [
        { ...run, planned: 1 },
        { ...run, planned: 0, result: 'three orders', manual: true },
      ],
    })
    assert.equal(await erase(), 0)
  })
})

test('ended jobs stay without the person who began them, or whom they were about', async () => {
  const { kv, erase } = openValues()
  const job = { kind: 'dead-letters', state: 'done', by: 'oidc:bob', done: 2, total: 2, data: null }
  const target = { do: 'drop', group: 'orders' }
  const result = { count: 2, messages: [OWN_MESSAGE, OTHER_MESSAGE] }
  await kv.set('long-job:a', {
    ...job,
    id: 'a',
    target: { ...target, error: 'no mailbox ada@example.com' },
    result,
  })
  await kv.set('long-job:b', { ...job, id: 'b', by: 'chat:ada', target })
  await kv.set('long-job:c', { ...job, id: 'c', state: 'running', by: 'chat:ada', target })
  await kv.set('long-job:d', { ...job, id: 'd', target })
  await kv.set('long-job:e', { ...job, id: 'e', kind: 'person-erase', by: 'chat:ada', target: {} })
  assert.equal(await erase(), 3)
  const jobs = await Promise.all(
    ['a', 'b', 'c', 'd', 'e'].map(async (id) => (await kv.get(`long-job:${id}`))?.value),
  )
  assert.deepEqual(jobs, [
    { ...job, id: 'a', target, result: { count: 2, messages: [OTHER_MESSAGE] } },
    { ...job, id: 'b', by: 'an erased person', target },
    { ...job, id: 'c', state: 'running', by: 'chat:ada', target },
    { ...job, id: 'd', target },
    { ...job, id: 'e', kind: 'person-erase', by: 'an erased person', target: {} },
  ])
  assert.equal(await erase(), 0, 'a second erasure finds nothing')
})

test('a session in the console ends with the erasure of the person who signed in', async () => {
  const { kv, erase } = openValues()
  const session = (person: JsonObject) => ({
    session: JSON.stringify({ person, startedAt: 1, expiresAt: 2 }),
    mac: 'x',
  })
  const oidc = { via: 'oidc', issuer: 'https://id.example.com' }
  await kv.set('console-session:a', session({ ...oidc, subject: '1', name: 'ada@example.com' }))
  await kv.set('console-session:b', session({ ...oidc, subject: 'ada@example.com' }))
  const others = session({ ...oidc, subject: '2', name: 'nada@example.com' })
  await kv.set('console-session:c', others)
  assert.equal(await erase(), 2)
  const left = await Promise.all(['a', 'b', 'c'].map((id) => kv.get(`console-session:${id}`)))
  assert.deepEqual(
    left.map((entry) => entry?.value),
    [undefined, undefined, others],
  )
})
