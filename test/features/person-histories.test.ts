import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/core/json.ts'
import type { Note } from '../../src/core/store.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createStorePlaces } from '../../src/features/person/store-places.ts'
import { newMessage } from '../engine/kit.ts'
import { openStore } from '../runtime/support/store.ts'

const ADA: Person = {
  identities: ['mail:ada@example.com'],
  messages: new Set(),
  conversations: new Set(),
  files: new Set(),
}
const identities = createIdentities(ADA.identities, () => false)
const subject = { person: ADA, about: createReferences(ADA, identities) }

test('an erasure removes reasons that name the person from the histories of other messages', async (t) => {
  const store = await openStore(t)
  const [accepted] = await store.journal.accept([newMessage({ text: 'hello' })])
  const id = String(accepted?.id)
  const note = (what: string, reason: string): Note => {
    const detail: JsonObject = { by: 'oidc:bob', reason }
    return { at: 1, road: 'dispatch', what, detail }
  }
  const named = 'Ada asked us from ada@example.com'
  await store.journal.note(id, [
    note('dropped', named),
    note('held', named),
    note('dropped', 'sent twice'),
    // Without this entry, the message would have no outcome.
    note('handled by a person', named),
  ])
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const left = (await store.journal.history(id)).filter(({ detail }) => Object(detail).reason)
  assert.deepEqual(
    left.map(({ what, detail }) => [what, Object(detail).reason]),
    [
      ['dropped', 'sent twice'],
      ['handled by a person', named],
    ],
  )
})
