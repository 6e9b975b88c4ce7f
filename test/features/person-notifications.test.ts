import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createOutbox, OUTBOX_QUEUE } from '../../src/engine/outbox.ts'
import { createIdentities, createReferences, type Person } from '../../src/features/person/person.ts'
import { createStorePlaces } from '../../src/features/person/store-places.ts'
import { storeKinds } from '../runtime/support/store.ts'

const ADA: Person = {
  identities: ['mail:ada@example.com'],
  messages: new Set(),
  conversations: new Set(),
  files: new Set(),
}
const identities = createIdentities(ADA.identities, () => false)
const subject = { person: ADA, about: createReferences(ADA, identities) }

for (const { kind, place, open } of storeKinds())
  describe(`notifications in the ${kind} store`, () => {
    test('that name an erased person are removed, unsent and dead ones; those of others stay', async (t) => {
      const store = await open(t, await place(t))
      const outbox = createOutbox(store, Date.now)
      const notify = (key: string, text: string) =>
        outbox.sendTo('mail', 'ops@example.com', {
          key,
          subject: '[Trivium] Dead letter',
          text,
          by: 'notify',
        })
      await notify('1', 'From ada@example.com: Where is my parcel?')
      const { items } = await store.jobs.claim(OUTBOX_QUEUE, { max: 1, lease: 60_000 })
      const error = { at: 1, code: 'send_failed', message: 'gone' }
      await store.jobs.settle(
        OUTBOX_QUEUE,
        items.map(({ id, token }) => ({ id, token, outcome: 'dead', reason: 'permanent', error })),
      )
      await notify('2', 'From bob@example.com: Where is my parcel?')
      await notify('3', 'Dead letter:\nada@example.com asks for a refund.')
      for (const each of createStorePlaces(store)) for await (const _ of each.erase(subject));
      assert.deepEqual(await store.jobs.deadLetters.ids(), [])
      const left = await store.jobs.claim(OUTBOX_QUEUE, { max: 10, lease: 60_000 })
      assert.deepEqual(
        left.items.map(({ id }) => id),
        ['outbox:2'],
      )
    })
  })
