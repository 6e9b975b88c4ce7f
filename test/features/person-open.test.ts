import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createFilePlaces } from '../../src/features/person/file-places.ts'
import { kindOfJob, openInJob, openInLetter } from '../../src/features/person/job-kinds.ts'
import { createIdentities, createReferences } from '../../src/features/person/person.ts'
import { proofOf } from '../../src/features/person/proof.ts'
import { openSentences } from '../../src/lib/open-kinds.ts'

const person = {
  identities: ['chat:ada'],
  messages: new Set<string>(),
  conversations: new Set<string>(),
  files: new Set<string>(),
}
const who = createIdentities(person.identities, () => false)
const subject = { person, about: createReferences(person, who) }
const signal = new AbortController().signal

describe('what is open of a person', () => {
  test('includes replies and pushes that are not delivered, in the form of each store', () => {
    const reply = { key: 'k', text: 'Your parcel\nis on its way', gateway: 'chat' }
    for (const content of [{ lane: 'l', data: reply }, ['lane', 'l', 'data', reply]]) {
      const job = { state: 'unfinished', queue: 'outbox', id: 'outbox:k', content } as const
      assert.equal(kindOfJob(job), 'replies not sent yet')
      assert.deepEqual(openInJob(job), [{ kind: 'replies', title: 'Your parcel is on its way' }])
      assert.deepEqual(openInJob({ ...job, state: 'done' }), [])
      const push = { ...job, queue: 'push/erp' }
      assert.equal(kindOfJob(push), 'pushes in a queue')
      assert.deepEqual(openInJob(push), [{ kind: 'pushes', title: 'erp' }])
      const event = '0192f0a1-0000-7000-8000-000000000000'
      const again = { ...push, id: `push/erp/${event}.1999999999999` }
      assert.deepEqual(openInJob(again), [{ kind: 'pushes again', title: 'erp' }])
      // The message that waits is counted itself.
      assert.deepEqual(openInJob({ ...job, queue: 'dispatch' }), [])
    }
  })

  test('includes dead letters: messages, replies that were not delivered, and pushes', () => {
    const reply = { key: 'k', text: 'Your parcel', gateway: 'chat' }
    assert.deepEqual(openInLetter({ queue: 'outbox', data: reply }), {
      kind: 'undelivered replies',
      title: 'Your parcel',
    })
    assert.deepEqual(openInLetter({ queue: 'push/erp' }), { kind: 'failed pushes', title: 'erp' })
    assert.deepEqual(openInLetter({ queue: 'dispatch' }), { kind: 'dead letters' })
    const sentences = openSentences({ 'dead letters': 2, 'undelivered replies': 1 }, [], {
      time: String,
      author: String,
    })
    assert.deepEqual(sentences, [
      '2 messages that failed (dead letters) go too',
      '1 reply that could not be delivered (a dead letter) goes too',
    ])
    const pushes = ['crm', 'crm', 'erp', 'crm'].map((title) => ({ kind: 'pushes', title }))
    assert.deepEqual(openSentences({ pushes: 5 }, pushes, { time: String, author: String }), [
      '5 pushes that are not delivered yet go too: crm (3); erp and 1 more',
    ])
  })

  test('includes schedules and unfinished work of the assistant, once', async () => {
    const records = [
      { kind: 'notes', record: { id: 'memory-1', text: 'likes tea' } },
      { kind: 'schedules', record: { id: 'schedule-1', name: 'remind me to pay' } },
      { kind: 'delegated work', record: { id: 'delegation-1', task: 'call the bank', status: 'working' } },
      { kind: 'delegated work', record: { id: 'delegation-2', task: 'write', status: 'done' } },
    ]
    const memory = {
      find: async () => records,
      erase: async () => {},
      findInHistory: async () => [],
      eraseHistory: async () => {},
    }
    const none = { async *entries() {}, filter: async () => {} }
    const places = createFilePlaces({
      logs: { messages: none, events: none, calls: none },
      index: { count: async () => 0, remove: async () => {} },
      artifacts: { has: async () => false, open: () => assert.fail(), remove: async () => {} },
      memory,
      copy: memory,
    })
    const tallies = await Promise.all(places.map((place) => place.tally(subject, signal)))
    assert.deepEqual(tallies[0]?.kinds, { notes: 1, schedules: 1, 'delegated work': 2 })
    assert.deepEqual(
      tallies.flatMap(({ open }) => open),
      [
        { kind: 'schedules', id: 'schedule-1', title: 'remind me to pay' },
        { kind: 'delegated work', id: 'delegation-1', title: 'call the bank' },
      ],
    )
  })

  test('is named in a sentence for each kind, approvals first', () => {
    const sends = Array.from({ length: 7 }, (_, n) => ({
      kind: 'planned messages',
      title: `text ${n}`,
      at: n,
    }))
    const items = [
      ...sends,
      { kind: 'approvals', title: 'Refund 1240.00 EUR · order 4890' },
      { kind: 'messages', title: 'waiting', id: 'm' },
      { kind: 'conversations', gateway: 'chat', conversation: 'c', by: 'oidc:ingrid' },
    ]
    const open = { 'planned messages': 7, messages: 1, conversations: 1, approvals: 1, pushes: 0 }
    const shown = { time: (at: unknown) => `at ${at}`, author: (by: unknown) => `<${by}>` }
    assert.deepEqual(openSentences(open, items, shown), [
      '1 open approval goes too: Refund 1240.00 EUR · order 4890',
      '7 planned messages go too: text 0 (at 0); text 1 (at 1); text 2 (at 2); text 3 (at 3); text 4 (at 4) and 2 more',
      '1 message that waits or is tried again goes too',
      '1 conversation that a colleague has taken over goes too: chat/c, by <oidc:ingrid>',
    ])
  })

  test('is in the proof of an erasure as numbers', () => {
    const counts = { records: 3, messages: 2, files: 0 }
    const kinds = { records: { approvals: 1, digests: 2 } }
    assert.deepEqual(proofOf({ counts, kinds, open: { approvals: 1 } }), {
      erased: 'records 3 (approvals 1, digests 2), messages 2',
      open: '1 open approval',
    })
    assert.deepEqual(proofOf({ counts: {}, kinds: {}, open: {} }), {})
  })
})
