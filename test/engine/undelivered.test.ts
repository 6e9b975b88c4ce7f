import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../src/core/message-query.ts'
import { createConversations } from '../../src/engine/conversations.ts'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { createHistogram } from '../../src/engine/histogram.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { createMessages } from '../../src/engine/messages.ts'
import { humanConversation } from '../../src/engine/print/conversation.ts'
import { createSearch } from '../../src/engine/search.ts'
import { createUndeliveredMails } from '../../src/engine/undelivered-mails.ts'
import { bury, job } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, MESSAGE_DEPS, newMessage } from './kit.ts'

test('a sender waits again if the answer of a person was not delivered, until a later one is sent', async (t) => {
  const store = await openStore(t)
  const from = { id: 'h.olsen@example.com', address: 'H.Olsen@example.com' }
  const place = { gateway: 'support', conversation: 'order', from, subject: 'Where is order 4777?' }
  const [accepted] = await store.journal.accept([newMessage({ ...place, transport: 'email' })])
  const id = accepted?.id ?? ''
  const sent = (at: number, by: string) =>
    store.journal.note(id, [{ at, road: 'outbox', what: 'sent', detail: { key: by, text: 'Hello', by } }])
  const { cursor } = await store.journal.unpumped(1)
  await store.journal.pumped(cursor, id, [])
  const { list, show } = createConversations({ ...MESSAGE_DEPS, store })
  const waiting = async () => Object(await list({ unanswered: true, limit: 10 }, callOf())).conversations
  await sent(Date.now(), 'route support-mail')
  assert.deepEqual(await waiting(), [])

  const data = { key: 'a', to: from.id, subject: 'Re: Where is order 4777?', text: 'Found.', by: 'ingrid' }
  await bury({ store, now: () => Date.now() + 10 }, 'outbox', job('a', 'a', { group: 'support', data }))
  const [row] = await waiting()
  assert.partialDeepStrictEqual(row, { id, undelivered: { by: 'ingrid', to: from.id, letter: 'a' } })
  assert.equal(row.reply, undefined)
  const undelivered = async () => Object(await list({ undelivered: true, limit: 10 }, callOf())).conversations
  assert.deepEqual(await undelivered(), [row])
  const shown = Object(await show({ gateway: 'support', conversation: 'order', limit: 10 }, callOf()))
  assert.deepEqual([shown.waitingSince, shown.undelivered], [row.waitingSince, row.undelivered])
  const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
  const letters = createDeadLetters({ store, longWork, now: Date.now })
  const letter = Object(await letters.show({ id: 'a' }, callOf()))
  assert.partialDeepStrictEqual(letter.mayAnswer, { id, conversation: 'order' })
  assert.match(humanConversation(shown), /The answer of ingrid was not delivered .* ago/)
  assert.doesNotMatch(humanConversation(shown), /Answered/)

  const { search } = createSearch(store, createUndeliveredMails(store))
  const [later] = await store.journal.accept([newMessage({ gateway: 'other', conversation: 'other' })])
  const found = async (...outcome: Outcome[]) => {
    const filter = { ...(outcome.length > 0 && { outcome }), limit: 10 }
    const rows: { id: string; outcome: Outcome }[] = Object(await search(filter, callOf())).messages
    return rows.map((row) => [row.id, row.outcome])
  }
  assert.deepEqual(await found('undelivered'), [[id, 'undelivered']])
  assert.ok((await found()).some(([one, outcome]) => one === id && outcome === 'undelivered'))
  assert.ok(!(await found('unrouted', 'done', 'waiting')).some(([one]) => one === id))
  assert.deepEqual(await search({ outcome: ['undelivered'], before: id, limit: 10 }, callOf()), {
    messages: [],
  })
  const { histogram } = createHistogram(store, () => Date.now() + 1_000, createUndeliveredMails(store))
  const counted = Object(await histogram({ outcome: ['undelivered'], buckets: 10 }, callOf()))
  assert.deepEqual([counted.total, Math.max(...counted.counts)], [1, 1])
  const ofOutcome = await list({ outcome: ['undelivered'], limit: 10 }, callOf())
  assert.deepEqual(Object(ofOutcome).conversations, [row])
  const one = { outcome: ['undelivered' as const, 'waiting' as const], limit: 1 }
  const page = Object(await search(one, callOf()))
  assert.deepEqual([page.messages.length, page.messages[0].id, page.next], [1, later?.id, later?.id])

  await sent(Date.now() + 1_000, 'ada')
  assert.deepEqual(await waiting(), [])
  assert.deepEqual(await found('undelivered'), [])
  await store.journal.accept([newMessage({ ...place, conversation: 'another', subject: 'A broken stove' })])
  assert.equal((await waiting()).length, 1)
  assert.deepEqual(await undelivered(), [])
})

test('a mail stays undelivered after its dead letter is dropped', async (t) => {
  const store = await openStore(t)
  const from = { id: 'h.olsen@example.com', address: 'H.Olsen@example.com' }
  const place = { gateway: 'support', conversation: 'order', from, subject: 'Where is order 4777?' }
  await store.journal.accept([newMessage({ ...place, transport: 'email' })])
  const data = { key: 'a', to: from.id, subject: 'Re: Where is order 4777?', text: 'Found.', by: 'ingrid' }
  await bury({ store, now: () => Date.now() + 10 }, 'outbox', job('a', 'a', { group: 'support', data }))
  const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
  const letters = createDeadLetters({ store, longWork, now: Date.now })
  const { show } = createConversations({ ...MESSAGE_DEPS, store })
  const shown = async () =>
    Object(await show({ gateway: 'support', conversation: 'order', limit: 9 }, callOf()))
  const before = await shown()
  await letters.drop({ all: true, queue: 'outbox', limit: 10 }, callOf())
  const after = await shown()
  const { letter, ...undelivered } = before.undelivered
  assert.equal(letter, 'a')
  assert.deepEqual([after.undelivered, after.waitingSince], [undelivered, before.waitingSince])
})

test('a mail to the sender that was not delivered is in the history of the message and in its conversation', async (t) => {
  const store = await openStore(t)
  const accept = async (subject: string) => {
    const from = { id: 'h.olsen@example.com', address: 'H.Olsen@example.com' }
    const [accepted] = await store.journal.accept([
      newMessage({ gateway: 'support', conversation: subject, from, subject }),
    ])
    return accepted?.id ?? ''
  }
  const order = await accept('Where is order 4777?')
  const other = await accept('A broken stove')
  const send = (id: string, data: object) =>
    bury({ store, now: Date.now }, 'outbox', job(id, id, { group: 'support', data: { ...data } }))
  const to = 'h.olsen@example.com'
  await send('outbox:a', {
    key: 'a',
    to,
    subject: 'Re: Where is order 4777?',
    text: 'We found it.',
    by: 'ingrid',
  })
  await send('outbox:b', { key: 'b', to: 'lena@example.com', text: 'Hello Lena' })

  const messages = createMessages({ ...MESSAGE_DEPS, store })
  const unsentIn = async (id: string) =>
    Object(await messages.show({ id }, callOf())).history.filter(
      ({ what }: { what: string }) => what === 'not delivered',
    )
  const [note, ...others] = await unsentIn(order)
  assert.partialDeepStrictEqual(note, {
    road: 'outbox',
    detail: { to, text: 'We found it.', by: 'ingrid', letter: 'outbox:a' },
  })
  assert.ok(note.detail.error)
  assert.deepEqual(others, [])
  assert.deepEqual(await unsentIn(other), [], 'it has another subject')

  const conversations = createConversations({ ...MESSAGE_DEPS, store })
  const shown = await conversations.show(
    { gateway: 'support', conversation: 'Where is order 4777?', limit: 20 },
    callOf(),
  )
  const [, reply] = Object(shown).entries
  assert.partialDeepStrictEqual(reply, {
    role: 'reply',
    state: 'not delivered',
    to,
    text: 'We found it.',
    letter: 'outbox:a',
  })
})

test('a retry does not change when a mail or an answer was written', async (t) => {
  const store = await openStore(t)
  const from = { id: 'h.olsen@example.com', address: 'h.olsen@example.com' }
  const place = { gateway: 'support', conversation: 'order', from, subject: 'Where is order 4777?' }
  const accept = async () => (await store.journal.accept([newMessage(place)]))[0]?.id ?? ''
  const first = await accept()
  const written = Date.now() + 5
  const data = { key: 'a', to: from.id, text: 'Found.', by: 'ingrid', queuedAt: written }
  const note = (at: number, what: string, detail = {}) =>
    store.journal.note(first, [{ at, road: 'outbox', what, detail: { key: 'b', ...detail } }])
  await note(written, 'send failed', { text: 'On Friday.', by: 'route desk' })
  await note(written + 1_000, 'dead')
  await note(written + 60_000, 'sent')
  const { show } = createConversations({ ...MESSAGE_DEPS, store })
  const shown = async () =>
    Object(await show({ gateway: 'support', conversation: 'order', limit: 10 }, callOf()))
  // Its dead letter is of the last retry.
  const retried = { store, now: () => written + 90_000 }
  await bury(retried, 'outbox', job('a', 'a', { group: 'support', data }))
  const { entries } = await shown()
  assert.deepEqual(
    entries.slice(1).map(({ text, at, sentAt }: Record<string, unknown>) => [text, at, sentAt]),
    [
      ['On Friday.', written, written + 60_000],
      ['Found.', written, undefined],
    ],
  )

  await until(() => Date.now() > written, 'a later time')
  const later = await accept()
  const { undelivered, waitingSince } = await shown()
  assert.equal(undelivered, undefined, `the mail was written before ${later}`)
  assert.ok(waitingSince)
})

test('conversation-show and message-show say whether an answer can be sent, and why not', async (t) => {
  const store = await openStore(t)
  const [accepted] = await store.journal.accept([newMessage({ gateway: 'support', conversation: 'order' })])
  const id = accepted?.id ?? ''
  const shown = async (deps: object) =>
    Object(
      await createConversations({ ...MESSAGE_DEPS, ...deps, store }).show(
        { gateway: 'support', conversation: 'order', limit: 10 },
        callOf(),
      ),
    )
  assert.equal((await shown({})).unanswerable, undefined)
  const unanswerable = () => 'its sender already has its answer'
  assert.equal((await shown({ unanswerable })).unanswerable, 'its sender already has its answer')
  const messages = createMessages({ ...MESSAGE_DEPS, unanswerable, store })
  assert.equal(
    Object(await messages.show({ id }, callOf())).unanswerable,
    'its sender already has its answer',
  )

  const detail = { key: 'b', text: 'Hello', error: 'is_archived' }
  await store.journal.note(id, [{ at: Date.now(), road: 'outbox', what: 'dead', detail }])
  const unreachable = (_: unknown, error: string) => `the channel is archived: ${error}`
  assert.equal((await shown({ unreachable })).unreachable, 'the channel is archived: is_archived')
})
