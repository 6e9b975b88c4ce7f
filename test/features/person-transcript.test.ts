import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { LogEntry } from '../../src/core/activity.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { createFilePlaces } from '../../src/features/person/file-places.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'

const ADA: Person = {
  identities: ['mail:ada@example.com', 'sso:ada'],
  messages: new Set(),
  conversations: new Set(),
  files: new Set(),
}
const about = createReferences(
  ADA,
  createIdentities(ADA.identities, () => false),
)

/** Lines of a log that are kept after the erasure of Ada. */
async function keptIn(name: 'transcript' | 'activity', entries: LogEntry[]) {
  let lines = entries
  const log = {
    async *entries() {
      yield* lines
    },
    async filter(isKept: (entry: LogEntry) => boolean) {
      lines = lines.filter(isKept)
    },
  }
  const empty = { async *entries() {}, filter: async () => {} }
  const memory = {
    find: async () => [],
    erase: async () => {},
    findInHistory: async () => [],
    eraseHistory: async () => {},
  }
  const places = createFilePlaces({
    logs: {
      messages: empty,
      events: empty,
      calls: empty,
      [name === 'activity' ? 'events' : 'messages']: log,
    },
    index: { count: async () => 0, remove: async () => {} },
    artifacts: { has: async () => false, open: async () => Readable.from([]), remove: async () => {} },
    memory,
  })
  for (const place of places) {
    if (place.name !== name) continue
    for await (const _ of place.erase({ person: ADA, about }));
  }
  return lines
}

const keptOf = async (entries: LogEntry[]) =>
  (await keptIn('transcript', entries)).map(({ content }) => content)

const line = (content: string, meta: JsonObject): LogEntry => ({
  time: '2026-11-29T12:00:00.000Z',
  channel: 'mail',
  role: 'assistant',
  content,
  meta,
})

test('the erasure of a person removes notifications that name them', async () => {
  const notified = { to: 'C0SUPPORT', by: 'notify' }
  const subject = '[Trivium] Dead letter of ada@example.com'
  const kept = await keptOf([
    line('Approval needed\nmail:ada@example.com asks for refund.', notified),
    line('See the console.', { ...notified, subject }),
    line('bob@example.com asks for refund.', notified),
    // What others write stays.
    line('ada@example.com called us', { to: 'C0SUPPORT', by: 'bob' }),
  ])
  assert.deepEqual(kept, ['bob@example.com asks for refund.', 'ada@example.com called us'])
})

test('the erasure of a person removes the lines of answers that they wrote to others', async () => {
  const kept = await keptOf([
    line('by Ada', { to: 'bob@example.com', by: 'http sso:ada' }),
    line('to Ada', { to: 'ada@example.com', by: 'route support' }),
    line('by a route', { to: 'bob@example.com', by: 'route support' }),
  ])
  assert.deepEqual(kept, ['by a route'])
})

test('the erasure of a person removes activity whose error or result names them, unless it is of a message of others', async () => {
  const time = '2026-11-29T12:00:00.000Z'
  const error = '550 The mailbox ada@example.com does not exist'
  const kept = [
    { time, event: 'message_processed', messageId: 'of-bob', text: 'Ask ada@example.com', error },
    {
      time,
      event: 'schedule_failed',
      schedule: 'report',
      error: '550 The mailbox bob@example.com does not exist',
    },
  ]
  const others = [
    { time, event: 'schedule_failed', schedule: 'report', error },
    { time, event: 'schedule_ran', schedule: 'report', result: 'Written to\nada@example.com' },
    { time, event: 'note_stored', owner: 'mail:ada@example.com' },
  ]
  assert.deepEqual(await keptIn('activity', [...others, ...kept]), kept)
})
