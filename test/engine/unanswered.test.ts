import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Message, messageSchema } from '../../src/core/message.ts'
import { makeId } from '../../src/core/message-id.ts'
import type { Outcome } from '../../src/core/message-query.ts'
import type { Note } from '../../src/core/store.ts'
import { repliesIn } from '../../src/engine/conversation-replies.ts'
import { createWaitingState, type Hold } from '../../src/engine/unanswered.ts'

describe('whether somebody waits for an answer', () => {
  const waitingStateOf = createWaitingState({ history: async () => [] }, () => true)
  const mail = (at: number, data: Message['data'] = {}) => {
    const fields = { id: makeId(at, 0, 0), gateway: 'support', transport: 'email', receivedAt: at, data }
    return { message: messageSchema.parse(fields), outcome: 'unrouted' as Outcome }
  }

  test('a person who wrote by email does', async () => {
    assert.deepEqual(await waitingStateOf([mail(2_000), mail(1_000)]), { waitingSince: 1_000 })
  })

  test('a request for an approval does not answer them, the reply after it does', async () => {
    const sent = (key: string, at: number) => ({
      at,
      road: 'outbox' as const,
      what: 'sent',
      detail: { key, text: key },
    })
    const stateAfter = async (...notes: ReturnType<typeof sent>[]) =>
      createWaitingState({ history: async () => notes }, () => true)([mail(1_000)])
    assert.deepEqual(await stateAfter(sent('approval:a1', 2_000)), { waitingSince: 1_000 })
    assert.deepEqual(await stateAfter(sent('approval:a1', 2_000), sent('reply', 3_000)), {
      reply: { at: 3_000, text: 'reply' },
    })
  })

  test('a person may say that no answer is needed, until the next message or a failed answer', async () => {
    const settled: Note = {
      at: 3_000,
      road: 'dispatch',
      what: 'settled',
      detail: { by: 'ada', reason: 'by phone' },
    }
    const lost = (at: number): Note => ({
      at,
      road: 'outbox',
      what: 'not delivered',
      detail: { key: 'k', text: 'Yes.' },
    })
    const first = mail(1_000)
    const stateOf = (messages: readonly ReturnType<typeof mail>[], ...notes: Note[]) =>
      createWaitingState(
        { history: async (id) => (id === first.message.id ? notes : []) },
        () => true,
      )(messages)
    const isSettled = { settled: { at: 3_000, by: 'ada', reason: 'by phone' } }
    assert.deepEqual(await stateOf([first], settled), isSettled)
    assert.deepEqual(await stateOf([first], lost(2_000), settled), isSettled)
    assert.deepEqual(await stateOf([mail(4_000), first], settled), { waitingSince: 4_000 })
    assert.partialDeepStrictEqual(await stateOf([first], settled, lost(4_000)), {
      waitingSince: 1_000,
      undelivered: { text: 'Yes.' },
    })
  })

  test('a request for an approval has its decision, and is listed once', () => {
    const note = (what: string, road: Note['road'], detail: object): Note => ({
      at: 3_000,
      road,
      what,
      detail: { ...detail },
    })
    const notes = [
      note('sent', 'outbox', { key: 'approval:a1', text: 'Refund?' }),
      note('denied', 'dispatch', { approval: 'a1', by: 'ada', reason: 'too late' }),
      note('sent', 'outbox', { key: 'approval:a1:decided', text: '' }),
      note('sent', 'outbox', { key: 'approval:a2', text: 'And this?' }),
    ]
    const [first, second, ...others] = repliesIn('m1', notes)
    assert.partialDeepStrictEqual(first, {
      approval: 'a1',
      decision: { status: 'denied', at: 3_000, by: 'ada', reason: 'too late' },
    })
    assert.equal(second?.decision, undefined)
    assert.deepEqual(others, [])
  })

  test('a newsletter and an out-of-office note do not', async () => {
    for (const auto of ['list', 'away']) assert.deepEqual(await waitingStateOf([mail(1_000, { auto })]), {})
    assert.deepEqual(await waitingStateOf([mail(2_000), mail(1_000, { auto: 'list' })]), {
      waitingSince: 2_000,
    })
  })

  test('somebody who writes to a person who has taken over does, with any outcome', async () => {
    const hold: Hold = { by: 'control-token:ingrid', since: 1_500, isAnswered: false }
    const dropped = { ...mail(2_000), outcome: 'dropped' as Outcome }
    assert.deepEqual(await waitingStateOf([dropped, mail(1_000)], hold), { waitingSince: 1_000 })
    assert.deepEqual(await waitingStateOf([dropped, mail(1_000)]), {})
    const droppedBefore = { ...mail(1_000), outcome: 'dropped' as Outcome }
    assert.deepEqual(await waitingStateOf([droppedBefore], hold), {})
  })

  test('an answer from the mailbox, by which a person took over, counts', async () => {
    const hold: Hold = { by: 'support:ingrid@example.com', since: 1_500, isAnswered: true }
    assert.deepEqual(await waitingStateOf([mail(1_000)], hold), {})
    assert.deepEqual(await waitingStateOf([mail(2_000), mail(1_000)], hold), { waitingSince: 2_000 })
  })

  test('a submitted message counts if it names its sender and is not a test', async () => {
    const submitted = (id: string, target: object = {}) => {
      const { message, outcome } = mail(1_000, { replyTarget: { log: true, ...target } })
      return [{ message: { ...message, from: { id, verified: true } }, outcome }]
    }
    assert.deepEqual(await waitingStateOf(submitted('petra@mail.example')), { waitingSince: 1_000 })
    assert.deepEqual(await waitingStateOf(submitted('cli')), {})
    assert.deepEqual(await waitingStateOf(submitted('petra@mail.example', { test: true })), {})
  })
})
