import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createTranscriptIndex } from '../../src/features/assistant/transcript-index.ts'
import { createFilePlaces } from '../../src/features/person/file-places.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createLogs } from '../../src/features/transcript/logs.ts'
import { temporaryDir } from './kit.ts'

const ADA: Person = {
  identities: ['mail:ada@example.com', 'oidc:ada@example.com'],
  messages: new Set(),
  conversations: new Set(),
  files: new Set(),
}
const about = createReferences(
  ADA,
  createIdentities(ADA.identities, () => false),
)

test('an erasure removes the search index with each line of the transcript that it removes', async (t) => {
  const dir = temporaryDir(t)
  // Each line is in a file of its own: only that of the line is rewritten.
  const logs = createLogs({ dir, maxSize: 1 })
  const index = createTranscriptIndex({ dir, logs })
  t.after(async () => {
    index.close()
    await logs.close()
  })
  const say = (content: string, meta: { to: string; by: string }) =>
    logs.message({ channel: 'mail', role: 'assistant', content, meta })
  await say('Dead letter of ada@example.com: parcel', { to: 'ops@example.com', by: 'notify' })
  await say('Written by Ada: parcel', { to: 'bob@example.com', by: 'oidc:ada@example.com' })
  await say('To Bob: parcel', { to: 'bob@example.com', by: 'oidc:carl@example.com' })
  const found = async () => (await index.find(['parcel'], {}, {})).map(({ text }) => text)
  assert.equal((await found()).length, 3)
  const memory = {
    find: async () => [],
    erase: async () => {},
    findInHistory: async () => [],
    eraseHistory: async () => {},
  }
  const places = createFilePlaces({
    logs: logs.lines,
    index,
    artifacts: { has: async () => false, open: async () => Readable.from([]), remove: async () => {} },
    memory,
  })
  for (const place of places) for await (const _ of place.erase({ person: ADA, about }));
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith('search.db')),
    [],
  )
  assert.deepEqual(await found(), ['To Bob: parcel'])
})
