import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import { type JsonObject, pathGet } from '../../src/core/json.ts'
import { makeId, timeOf } from '../../src/core/message-id.ts'
import type { DeadLetter } from '../../src/core/store.ts'
import { HOUR } from '../../src/core/units.ts'
import { createDeadLetters } from '../../src/engine/dead-letters.ts'
import { countGroups } from '../../src/engine/letter-groups.ts'
import { createLongWork } from '../../src/engine/long-work.ts'
import { bury, claimOne, failure, job } from '../contract/store/kit.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from '../runtime/support/log.ts'
import { openStore } from '../runtime/support/store.ts'
import { callOf, newMessage } from './kit.ts'

const letterSchema = z.object({ id: z.string(), at: z.number() })

async function openLetters(t: TestContext) {
  const store = await openStore(t)
  const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
  return { store, longWork, letters: createDeadLetters({ store, longWork, now: Date.now }) }
}

test('dead-letter-groups: errors are alike only if they are the same to their end', async (t) => {
  const { store, letters } = await openLetters(t)
  const long = 'x'.repeat(250)
  // The error of a letter is its id.
  for (const id of [`${long} third`, `${long} fifth`])
    await bury({ store, now: Date.now }, 'q', job(id, 'lane'))
  const groups = await letters.groups({}, callOf())
  assert.deepEqual([pathGet(groups, '0.count'), pathGet(groups, '0.alike')], [2, false])
  assert.equal(pathGet(groups, '0.senders'), undefined, 'letters without a message have no sender')
})

test('the history of a message says who dropped the reply to it, and why; its letter is then said to be dropped', async (t) => {
  const { store, letters } = await openLetters(t)
  const [accepted] = await store.journal.accept([newMessage({})])
  const message = accepted?.id ?? ''
  const id = `outbox:${message}:team:0`
  await bury({ store, now: Date.now }, 'outbox', job(id, id, { data: { inReplyTo: message } }))
  await letters.drop({ id, limit: 1, reason: 'told him' }, callOf())
  const note = (await store.journal.history(message)).at(-1)
  assert.partialDeepStrictEqual(note, { road: 'outbox', what: 'dropped', detail: { id, reason: 'told him' } })
  await assert.rejects(async () => letters.show({ id }, callOf()), /It was dropped by .* at 20.*message show/)
})

test('the id of a message finds the dead letter of its reply, and one that was sent since says so', async (t) => {
  const { store, letters } = await openLetters(t)
  const [accepted] = await store.journal.accept([newMessage({})])
  const message = accepted?.id ?? ''
  const key = `${message}:team:0`
  const id = `outbox:${key}`
  await assert.rejects(async () => letters.show({ id: message }, callOf()), { code: 'dead_letter_not_found' })
  await bury({ store, now: Date.now }, 'outbox', job(id, id, { data: { inReplyTo: message } }))
  const note = { at: 1, road: 'outbox', detail: { key } } as const
  await store.journal.note(message, [{ ...note, what: 'dead' }])
  const shown = await letters.show({ id: message }, callOf())
  assert.equal(pathGet(shown, 'id'), id)
  await assert.rejects(async () => letters.show({ id: message, queue: 'dispatch' }, callOf()), {
    code: 'dead_letter_not_found',
  })
  await letters.retry({ id: message, limit: 1 }, callOf())
  await store.journal.note(message, [{ ...note, at: Date.parse('2026-11-29T10:00:00Z'), what: 'sent' }])
  await assert.rejects(
    async () => letters.show({ id }, callOf()),
    /It was retried, and sent at 2026-11-29 10:00:00 UTC: `trivium message show /,
  )
})

test('the id of a message stands for its reply, and never for another mail to its sender', async (t) => {
  const { store, letters } = await openLetters(t)
  const [accepted] = await store.journal.accept([newMessage({})])
  const message = await store.journal.get(accepted?.id ?? '')
  const { id = '', from, gateway = '' } = message ?? {}
  const bury1 = (letter: string, data: JsonObject) =>
    bury({ store, now: Date.now }, 'outbox', job(letter, letter, { group: gateway, data }))
  const mail = { to: from?.id ?? '', text: 'Your invoice', queuedAt: Date.now() + HOUR }
  await bury1('outbox:invoice', mail)
  const found = await letters.show({ id }, callOf())
  assert.equal(pathGet(found, 'id'), 'outbox:invoice', 'it can be looked at: it may be the answer')
  for (const act of [letters.retry, letters.drop])
    await assert.rejects(
      async () => act({ id, limit: 1 }, callOf()),
      /There is no dead letter .*outbox:invoice/,
    )

  const replies = ['0', '1'].map((ordinal) => `${id}:team:${ordinal}`)
  for (const key of replies.slice(0, 1)) {
    await bury1(`outbox:${key}`, { inReplyTo: id })
    await store.journal.note(id, [{ at: 1, road: 'outbox', what: 'dead', detail: { key } }])
  }
  assert.equal(pathGet(await letters.show({ id }, callOf()), 'id'), `outbox:${replies[0]}`)
  await bury1(`outbox:${replies[1]}`, { inReplyTo: id })
  await store.journal.note(id, [{ at: 2, road: 'outbox', what: 'dead', detail: { key: replies[1] ?? '' } }])
  await assert.rejects(async () => letters.drop({ id, limit: 1 }, callOf()), {
    code: 'usage',
    message: new RegExp(
      `outbox:${replies[0]}.*outbox:${replies[1]}|outbox:${replies[1]}.*outbox:${replies[0]}`,
    ),
  })
  await letters.drop({ id: `outbox:${replies[1]}`, limit: 1 }, callOf())
  await letters.drop({ id, limit: 1 }, callOf())
  assert.deepEqual(await store.jobs.deadLetters.ids(), ['outbox:invoice'])
})

test('a job that drops many dead letters notes its reason in the history of each message', async (t) => {
  const { store, longWork, letters } = await openLetters(t)
  const accepted = await store.journal.accept(Array.from({ length: 150 }, () => newMessage({})))
  for (const { id: message } of accepted) {
    const id = `outbox:${message}:team:0`
    await bury({ store, now: Date.now }, 'outbox', job(id, id, { data: { inReplyTo: message } }))
  }
  const lastNotes = () =>
    Promise.all(accepted.map(async ({ id }) => (await store.journal.history(id)).at(-1)?.detail))
  await letters.bulk({ do: 'drop', queue: 'outbox', reason: 'sent by hand' }, callOf())
  const isNoted = async () =>
    (await lastNotes()).every((detail) => pathGet(detail ?? null, 'id') !== undefined)
  await until(isNoted, 'the notes')
  // The job must end before the store is closed.
  await longWork.stop()
  const reasons = (await lastNotes()).map((detail) => pathGet(detail ?? null, 'reason'))
  assert.deepEqual(new Set(reasons), new Set(['sent by hand']))
})

describe('dead-letter-list', () => {
  test('continues after a cursor, within its filter', async (t) => {
    const { store, letters } = await openLetters(t)
    for (const id of ['a', 'b', 'c']) await bury({ store, now: Date.now }, 'q', job(id, id))
    const list = async (args: { before?: string; until?: number } = {}) =>
      z.array(letterSchema).parse(await letters.list({ limit: 9, ...args }, callOf()))
    const [newest] = await list()
    assert.ok(newest)
    const ids = async (args: { before: string; until?: number }) => (await list(args)).map(({ id }) => id)
    const before = `${newest.at + 1}/`
    assert.deepEqual(await ids({ before }), ['c', 'b', 'a'])
    assert.deepEqual(await ids({ before: `${newest.at}/c` }), ['b', 'a'])
    assert.deepEqual(await ids({ before, until: newest.at - 60_000 }), [])
    assert.deepEqual(await ids({ before: `${newest.at - 60_000}/`, until: newest.at + 1 }), [])
  })

  test('finds the letters of a message and of the replies to it', async (t) => {
    const { store, letters } = await openLetters(t)
    const id = '01a228a3-c7ea-7000-8000-0015ff3dbda4'
    for (const [name, data] of [
      ['mine', { inReplyTo: id }],
      ['other', { inReplyTo: '01a228a3-c7ea-7000-8000-0015ff3dbda5' }],
      ['none', {}],
    ] as const)
      await bury({ store, now: Date.now }, 'outbox', job(name, name, { data }))
    const ids = async (filter: { message?: string }) =>
      z
        .array(letterSchema)
        .parse(await letters.list({ limit: 9, ...filter }, callOf()))
        .map(({ id }) => id)
    assert.deepEqual(await ids({ message: id }), ['mine'])
    // No older letter is read: this message is younger than all of them.
    assert.deepEqual(await ids({ message: makeId(Date.now() + 2 * HOUR, 1, 0) }), [])
    await letters.drop({ all: true, message: id, limit: 9 }, callOf())
    assert.deepEqual((await ids({})).sort(), ['none', 'other'])
  })

  test('finds the letter of a message that was merged into another one', async (t) => {
    const { store, letters } = await openLetters(t)
    const accepted = await store.journal.accept([newMessage(), newMessage()])
    const [a = '', b = ''] = accepted.map(({ id }) => id)
    await store.jobs.add(
      'dispatch',
      [a, b].map((id) => job(id, 'lane', { messageId: id })),
    )
    const { token, group } = await claimOne(store, 'dispatch')
    await store.jobs.mergeFollowing('dispatch', { id: a, token, group })
    const error = failure('no', Date.now())
    await store.jobs.settle('dispatch', [{ id: a, token, outcome: 'dead', error, reason: 'permanent' }])
    const found = z.array(letterSchema).parse(await letters.list({ limit: 9, message: b }, callOf()))
    assert.deepEqual(
      found.map(({ id }) => id),
      [a],
    )
  })

  test('finds the letters of messages by the time of their arrival, whenever they died', async (t) => {
    const { store, letters } = await openLetters(t)
    const [accepted] = await store.journal.accept([newMessage()])
    const id = accepted?.id ?? ''
    const arrivedAt = timeOf(id)
    await bury({ store, now: Date.now }, 'dispatch', job(id, 'lane', { messageId: id }))
    const many = async (filter: { arrivedSince?: number; arrivedUntil?: number }) => {
      const groups = await letters.groups(filter, callOf())
      return pathGet(groups, '0.count') ?? 0
    }
    assert.equal(await many({ arrivedSince: arrivedAt, arrivedUntil: arrivedAt + 1 }), 1)
    assert.equal(await many({ arrivedSince: arrivedAt + 1 }), 0)
    assert.equal(await many({ arrivedUntil: arrivedAt }), 0)
  })

  test('shows what was not sent for a reply, not the message that it answers', async (t) => {
    const store = await openStore(t)
    const longWork = createLongWork({ store, owner: 'test', log: createMemoryLog(), now: Date.now })
    const letters = createDeadLetters({ store, longWork, now: Date.now })
    const data = { text: 'Noted; it is on the board.', subject: 'Re: the scale', by: 'route team' }
    await bury({ store, now: Date.now }, 'outbox', job('reply', 'team/hall', { data }))
    const [row] = Object(await letters.list({ limit: 9 }, callOf()))
    assert.equal(row.summary, 'Re: the scale · Noted; it is on the board.')
    const [group] = Object(await letters.groups({}, callOf()))
    assert.equal(group.sample, row.summary)
  })
})

test('of causes with as many letters, those of people come before those of machines', async () => {
  const letter = (group: string, data: object, at: number): DeadLetter => ({
    id: `${group}${at}`,
    queue: 'dispatch',
    group,
    lane: group,
    at,
    reason: 'attempts',
    errors: [{ at, code: 'skill_failed', message: `${group} failed` }],
    message: {
      ...newMessage(),
      id: `${group}${at}`,
      conversation: 'c',
      trace: '',
      attachments: [],
      receivedAt: at,
      ...data,
    },
  })
  const groups = await countGroups([
    letter('payments', { data: { event: 'charge.disputed' } }, 4),
    letter('invoices', {}, 3),
    letter('payments', { data: { event: 'charge.disputed' } }, 2),
    letter('invoices', {}, 1),
  ])
  assert.deepEqual(
    groups.map(({ group, count }) => [group, count]),
    [
      ['invoices', 2],
      ['payments', 2],
    ],
  )
})
