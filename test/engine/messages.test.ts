import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMessages } from '../../src/engine/messages.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const REST = {
  logged: () => [],
  pushed: async () => [],
  attempts: { of: () => undefined },
  holding: { pausesOf: () => [], notesOf: () => [], skillOf: () => undefined },
  match: () => undefined,
  unanswerable: () => undefined,
  traceUrl: () => undefined,
  isPulled: async () => true,
  now: () => 1_000,
}

test('message-show: the history has the entry of an attempt that ends meanwhile, if the outcome says so', async (t) => {
  const store = await openStore(t)
  const [accepted] = await store.journal.accept([newMessage({ text: 'hello' })])
  const id = accepted?.id ?? ''
  const ending: Pick<typeof store.journal, 'outcomes'> = {
    async outcomes() {
      await store.journal.note(id, [{ at: 1, road: 'dispatch', what: 'done' }])
      return ['done']
    },
  }
  const messages = createMessages({ ...REST, store: { ...store, journal: { ...store.journal, ...ending } } })
  const shown = Object(await messages.show({ id }, callOf()))
  assert.equal(shown.outcome, 'done')
  assert.equal(shown.history.at(-1).what, 'done')
})

test('message-show: the state of the receive road', async (t) => {
  const store = await openStore(t)
  const messages = createMessages({ ...REST, store })
  const states = {
    'leased leased dead': 'dead',
    // A consumer may acknowledge the message after its dead letter is noted. Both remove it from
    // the road.
    'leased dead acknowledged': 'dead',
    'leased dead leased acknowledged': 'dead',
    'leased dead acknowledged restored': 'waiting',
    'leased dead acknowledged restored leased acknowledged': 'acknowledged',
  }
  for (const [history, state] of Object.entries(states)) {
    const [accepted] = await store.journal.accept([newMessage({ text: history })])
    const id = accepted?.id ?? ''
    const notes = history.split(' ').map((what, at) => ({ at, road: 'receive', what }) as const)
    await store.journal.note(id, notes)
    const shown = Object(await messages.show({ id }, callOf()))
    assert.equal(shown.receive.state, state, history)
  }
})
