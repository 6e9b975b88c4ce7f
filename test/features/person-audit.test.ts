import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AUDIT_TOPIC } from '../../src/core/audit.ts'
import { LOG_TOPIC, NOTIFY_TOPICS, OPERATIONS_TOPIC } from '../../src/core/event.ts'
import type { Json } from '../../src/core/json.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createStorePlaces } from '../../src/features/person/store-places.ts'
import { openStore } from '../runtime/support/store.ts'

const ADA: Person = {
  identities: ['mail:ada@example.com'],
  messages: new Set(),
  conversations: new Set(['mail/of-ada']),
  files: new Set(),
}
const identities = createIdentities(ADA.identities, () => false)
const subject = { person: ADA, about: createReferences(ADA, identities) }

test('after the erasure of a person, no part of an audit entry names them, and the rest stays', async (t) => {
  const store = await openStore(t)
  const entry = { by: 'oidc:bob', via: 'console', action: 'trouble-acknowledge', outcome: 'ok' }
  const entries: Record<string, Json>[] = [
    { ...entry, target: { id: '1' }, result: { trouble: 'Gateway support does not work' } },
    { ...entry, action: 'person-erased', target: { records: 0 }, result: {}, outcome: 'cancelled' },
    {
      ...entry,
      target: { id: '2' },
      result: { trouble: 'Schedule write to ada@example.com fails', count: 2 },
    },
    { ...entry, target: { gateway: 'mail', conversation: 'of-ada' } },
    { ...entry, target: { gateway: 'shop', conversation: 'of-ada' } },
    { ...entry, target: { gateway: 'mail', conversation: 'thread of ada@example.com' } },
    {
      ...entry,
      target: { file: 'routes.yaml' },
      changes: { 'routes.vip.match': { before: null, after: { from: 'Ada <ada@example.com>' } } },
    },
  ]
  await store.topics.publish(
    AUDIT_TOPIC,
    entries.map((data) => ({ type: 'trouble-acknowledge', source: 'oidc:bob', data })),
  )
  const erase = async () => {
    let erased = 0
    for (const place of createStorePlaces(store))
      for await (const { count } of place.erase(subject)) erased += count
    return erased
  }
  assert.equal(await erase(), 4)
  const { items } = await store.topics.tail(AUDIT_TOPIC, 0, 10)
  assert.deepEqual(
    items.map(({ event }) => event.data),
    [
      entries[0],
      entries[1],
      entries[4],
      { ...entry, target: { id: '2' }, result: { count: 2 } },
      { ...entry, target: { gateway: 'mail' } },
      { ...entry, target: { gateway: 'mail' } },
      { ...entry, target: { file: 'routes.yaml' } },
    ],
  )
  assert.equal(await erase(), 0, 'a second erasure finds nothing')
})

test('an erasure removes operational problems and notifications that name the person in a text', async (t) => {
  const store = await openStore(t)
  const problem = (text: string): Record<string, Json> => ({ severity: 'error', title: 'Dead letter', text })
  const named = problem('550 5.1.1 The mailbox ada@example.com does not exist')
  const other = problem('550 5.1.1 The mailbox bob@example.com does not exist')
  const topics = [OPERATIONS_TOPIC, `${NOTIFY_TOPICS}1`, 'orders']
  for (const topic of topics)
    await store.topics.publish(
      topic,
      [named, other].map((data) => ({ type: 'dead-letter', source: 'trivium', data })),
    )
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const left = topics.map(async (topic) => {
    const { items } = await store.topics.tail(topic, 0, 10)
    return items.map(({ event }) => event.data)
  })
  // What a skill publishes belongs to somebody else.
  assert.deepEqual(await Promise.all(left), [[other], [other], [named, other]])
})

test('an erasure finds a name at the beginning of a line, in the audit log and in a problem', async (t) => {
  const store = await openStore(t)
  const entry = { by: 'oidc:bob', action: 'skill', error: 'not sent to\nada@example.com' }
  const problem = { title: 'Dead letter', text: 'Not sent to:\nada@example.com' }
  await store.topics.publish(AUDIT_TOPIC, [{ type: 'skill', source: 'oidc:bob', data: entry }])
  await store.topics.publish(OPERATIONS_TOPIC, [{ type: 'dead-letter', source: 'trivium', data: problem }])
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const audit = await store.topics.tail(AUDIT_TOPIC, 0, 10)
  assert.deepEqual(
    audit.items.map(({ event }) => event.data),
    [{ by: 'oidc:bob', action: 'skill' }],
  )
  assert.deepEqual((await store.topics.tail(OPERATIONS_TOPIC, 0, 10)).items, [])
})

test('neither an export nor an erasure includes what others wrote about the person, on its way to the logs of other daemons', async (t) => {
  const store = await openStore(t)
  const lines: [type: string, data: Record<string, Json>][] = [
    [
      'message',
      { channel: 'mail', role: 'user', content: 'I am ada@example.com', meta: { from: 'ada@example.com' } },
    ],
    ['event', { event: 'schedule_failed', error: '550 The mailbox ada@example.com does not exist' }],
  ]
  const ofOthers: typeof lines = [
    [
      'message',
      { channel: 'mail', role: 'user', content: 'Ask ada@example.com', meta: { from: 'bob@example.com' } },
    ],
    ['event', { event: 'message_processed', messageId: 'of-bob', text: 'Ask ada@example.com', ok: true }],
  ]
  await store.topics.publish(
    LOG_TOPIC,
    [...lines, ...ofOthers].map(([type, data]) => ({ type, source: 'trivium', data })),
  )
  const exported: Json[] = []
  for (const place of createStorePlaces(store))
    for await (const record of place.records(subject)) exported.push(Object(record).data)
  assert.deepEqual(
    exported,
    lines.map(([, data]) => data),
  )
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const { items } = await store.topics.tail(LOG_TOPIC, 0, 10)
  assert.deepEqual(
    items.map(({ event }) => event.data),
    ofOthers.map(([, data]) => data),
  )
})
