import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Message, messageSchema } from '../../src/core/message.ts'
import { makeId } from '../../src/core/message-id.ts'
import type { Outcome } from '../../src/core/message-query.ts'
import { createWaitingState } from '../../src/engine/unanswered.ts'

describe('whether somebody waits for an answer', () => {
  const waitingStateOf = createWaitingState({ history: async () => [] }, () => true)
  const mail = (at: number, data: Message['data'] = {}) => {
    const fields = { id: makeId(at, 0, 0), gateway: 'support', transport: 'email', receivedAt: at, data }
    return { message: messageSchema.parse(fields), outcome: 'unrouted' as Outcome }
  }

  test('a person who wrote by email does', async () => {
    assert.deepEqual(await waitingStateOf([mail(2_000), mail(1_000)]), { waitingSince: 1_000 })
  })

  test('a newsletter and an out-of-office note do not', async () => {
    for (const auto of ['list', 'away']) assert.deepEqual(await waitingStateOf([mail(1_000, { auto })]), {})
    assert.deepEqual(await waitingStateOf([mail(2_000), mail(1_000, { auto: 'list' })]), {
      waitingSince: 2_000,
    })
  })
})
