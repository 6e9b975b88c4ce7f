import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message } from '../../src/core/message.ts'
import { createConversationPauses } from '../../src/features/pauses/conversation-pauses.ts'
import type { Pause } from '../../src/features/pauses/records.ts'
import { callOf } from '../engine/kit.ts'
import { messageOf } from '../runtime/support/message.ts'

/** The journal has two conversations `c`; the newest message is on the gateway `bank`. */
function stage() {
  const messages = ['bank', 'shop'].map((gateway) => messageOf({ gateway, conversation: 'c' }))
  const paused: Pause[] = []
  const service = createConversationPauses({
    pauses: Object({ view: { list: () => paused } }),
    journal: {
      // A page ends early, as in a large journal.
      async search({ conversation, gateways, before }) {
        if (before === undefined) return { found: [], next: '1' }
        const isMatch = (one: Message) =>
          one.conversation === conversation && (gateways?.includes(one.gateway) ?? true)
        return { found: messages.filter(isMatch).map((message) => Object({ message })) }
      },
    },
    requireKnownGateway() {},
    fieldsOf: () => ({ since: 1, by: 'ada' }),
    async begin(pause) {
      paused.push(pause)
      return Object({ pause })
    },
    end: async ({ gateway }) => Object({ gateway }),
  })
  return { service, paused }
}

const ofShop = callOf({ caller: { kind: 'http', gateways: ['shop'] } })
const ofOther = callOf({ caller: { kind: 'http', gateways: ['other'] } })

test('a program with one gateway pauses its own conversation, although another gateway has a newer one of that name', async () => {
  const { service, paused } = stage()
  const pause = (call: typeof ofShop) =>
    service['conversation-pause']({ conversation: 'c', drop: false }, call)
  await pause(callOf())
  await pause(ofShop)
  assert.deepEqual(
    paused.map(Object).map(({ gateway }) => gateway),
    ['bank', 'shop'],
  )
  await assert.rejects(pause(ofOther), { code: 'forbidden' })
  await assert.rejects(service['conversation-pause']({ conversation: 'd', drop: false }, ofShop), {
    code: 'not_found',
  })

  const resume = (call: typeof ofShop) => service['conversation-resume']({ conversation: 'c' }, call)
  assert.deepEqual(Object(await resume(ofShop)), { gateway: 'shop' })
  assert.deepEqual(Object(await resume(callOf())), { gateway: 'bank' })
  await assert.rejects(resume(ofOther), { code: 'forbidden' })
})
