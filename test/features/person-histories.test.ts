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

test('an erasure leaves the outcomes of messages of others, without the person in their histories', async (t) => {
  const store = await openStore(t)
  const accepted = await store.journal.accept([newMessage({ text: 'hello' }), newMessage({ text: 'again' })])
  const [id = '', other = ''] = accepted.map((each) => each.id)
  const note = (what: string, detail: JsonObject, road: Note['road'] = 'dispatch'): Note => {
    return { at: 1, road, what, detail }
  }
  const reason = 'Ada asked us from ada@example.com'
  await store.journal.note(id, [
    note('held', { by: 'oidc:bob', reason, resumedBy: 'mail:ada@example.com' }),
    note('handled by a person', { by: 'mail:ada@example.com', reason }),
    note('sent', { to: 'ada@example.com' }, 'outbox'),
  ])
  await store.journal.note(other, [
    note('dropped', { by: 'oidc:bob', reason: 'sent twice' }),
    note('sent', { key: 'k', by: 'mail:ada@example.com', subject: 'Re: again', text: 'Yes' }, 'outbox'),
  ])
  const erase = async () => {
    let erased = 0
    for (const place of createStorePlaces(store))
      for await (const { count } of place.erase(subject)) erased += count
    return erased
  }
  const notesOf = async (message: string) => {
    const history = await store.journal.history(message)
    return history.filter(({ detail }) => detail !== undefined).map(({ what, detail }) => [what, detail])
  }
  assert.deepEqual(await store.journal.outcomes([id]), ['dropped'])
  assert.equal(await erase(), 4)
  assert.deepEqual(await store.journal.outcomes([id]), ['dropped'])
  const [nobody, why] = ['an erased person', 'named an erased person']
  assert.deepEqual(await notesOf(id), [
    ['held', { by: 'oidc:bob', reason: why, resumedBy: nobody }],
    ['handled by a person', { by: nobody, reason: why }],
  ])
  assert.deepEqual(await notesOf(other), [
    ['dropped', { by: 'oidc:bob', reason: 'sent twice' }],
    ['sent', { key: 'k', by: nobody }],
  ])
  assert.equal(await erase(), 0, 'a second erasure finds nothing')
})

test('an erasure removes the person from the errors of messages of others, which stay failed', async (t) => {
  const store = await openStore(t)
  const [{ id = '' } = {}] = await store.journal.accept([newMessage({ text: 'write to Ada' })])
  const failure = { route: 'sales', attempt: 1, code: 'skill_failed', ms: 1 }
  await store.journal.note(id, [
    {
      at: 1,
      road: 'dispatch',
      what: 'dead',
      detail: { ...failure, error: '550: ada@example.com is unknown' },
    },
  ])
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const notes = (await store.journal.history(id)).filter(({ what }) => what === 'dead')
  assert.deepEqual(
    notes.map(({ detail }) => detail),
    [{ ...failure, error: 'named an erased person' }],
  )
})

test('an erasure removes the person from what skills returned for others, whose messages stay done', async (t) => {
  const store = await openStore(t)
  const texts = ['call Ada', 'call Bob']
  const accepted = await store.journal.accept(texts.map((text) => newMessage({ text })))
  const ran = { route: 'calls', attempt: 1, ms: 1 }
  const returned = ['{"note":"Called\\nada@example.com back","more":"…', '{"note":"Called bob@example.com"}']
  for (const [at, { id }] of accepted.entries())
    await store.journal.note(id, [
      { at: 1, road: 'dispatch', what: 'done', detail: { ...ran, returned: returned[at] ?? '' } },
    ])
  for (const place of createStorePlaces(store)) for await (const _ of place.erase(subject));
  const ids = accepted.map(({ id }) => id)
  const details = await Promise.all(ids.map(async (id) => (await store.journal.history(id)).at(-1)?.detail))
  assert.deepEqual(details, [ran, { ...ran, returned: returned[1] }])
  assert.deepEqual(await store.journal.outcomes(ids), ['done', 'done'])
})
