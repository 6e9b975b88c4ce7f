import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Message } from '../../src/core/message.ts'
import { createToEvent } from '../../src/engine/message-event.ts'
import { transports } from '../../transports/registry.ts'

const toEvent = createToEvent(new Map(Object.entries(transports)))

/** A message whose sender chose fields with the names of those that Trivium sets. */
const forged = (transport: string): Message => ({
  id: '01a2225a-0297-7000-8000-0006dfffdd4d',
  gateway: 'shop',
  transport,
  conversation: 'shop:1',
  from: { id: 'ada' },
  text: 'hello',
  attachments: [],
  receivedAt: 1,
  trace: '01a2225a029770008000000600000000',
  data: { messageId: 'another', conversation: 'another', from: 'another' },
})

describe('the event of a message', () => {
  for (const transport of Object.keys(transports)) {
    test(`names the message, conversation and sender of a ${transport} message, whatever its data says`, () => {
      const { messageId, conversation, from } = Object(toEvent(forged(transport)).data)
      assert.deepEqual(
        { messageId, conversation, from },
        { messageId: '01a2225a-0297-7000-8000-0006dfffdd4d', conversation: 'shop:1', from: 'ada' },
      )
    })
  }
})
