import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import type { SkillContext } from '../../src/core/skill.ts'
import { createToEvent } from '../../src/gateway/gateways.ts'
import { transports } from '../../transports/registry.ts'
import { createCallbackRef } from './support/callback.ts'
import { skillOf } from './support/manager.ts'
import { messageOf } from './support/message.ts'
import { startOnRoads } from './support/roads.ts'
import { storeKinds } from './support/store.ts'

// The reference, "Observing Gateway Messages" to "Callbacks and allowed-tools", statement by statement.

const TOPIC = { topic: 'gateway-message' }
const bodies = (events: unknown) =>
  Array.isArray(events) ? events.map((event) => pathGet(event, 'data.body')) : events

describe('observing gateway messages', () => {
  for (const transport of ['email', 'slack', 'websocket', 'webhook']) {
    test(`${transport} emits gateway-message events: source = gateway name, data with from and body`, () => {
      const toEvent = createToEvent(new Map(Object.entries(transports)))
      const text = 'hello'
      const event = toEvent(
        messageOf({
          gateway: 'mine',
          transport,
          subject: 'Hi',
          text,
          data: transport === 'webhook' ? { body: text } : {},
        }),
      )
      assert.deepEqual([event.topic, event.type, event.source], ['gateway-message', transport, 'mine'])
      assert.deepEqual([pathGet(event.data, 'body'), pathGet(event.data, 'from')], ['hello', 'alice'])
      if (transport === 'email') assert.equal(pathGet(event.data, 'subject'), 'Hi')
    })
  }
})

for (const kind of storeKinds()) {
  describe(`the paths of the reference on the ${kind.kind} store`, () => {
    test('events are broadcast: all subscribers see every event, and receive still gets the message', async (t) => {
      const { manager, bring } = await startOnRoads(t, kind)
      const groups = ['audit', 'stats'].map((queue) => ({ ...TOPIC, queue }))
      for (const group of groups) await manager.invoke('event-subscribe', group)
      await bring('one')
      await bring('two')
      for (const group of groups)
        assert.deepEqual(bodies(await manager.invoke('event-wait', group)), ['one', 'two'])
      assert.equal(pathGet(await manager.invoke('gateway-receive', {}), 'text'), 'one')
    })

    test('gateway-receive is one consumer per message (queue take)', async (t) => {
      const { manager, bring } = await startOnRoads(t, kind)
      const waiting = [1, 2, 3].map(() => manager.invoke('gateway-receive', { timeout: 10_000 }))
      for (const text of ['one', 'two', 'three']) await bring(text)
      const texts = (await Promise.all(waiting)).map((message) => pathGet(message, 'text'))
      assert.deepEqual(texts.toSorted(), ['one', 'three', 'two'])
      assert.equal(await manager.invoke('gateway-receive', { timeout: 0 }), null)
    })

    test('a skill of route dispatch that calls gateway-receive gets the same message: they do not interfere', async (t) => {
      const skill = skillOf(async (ctx) => {
        const received = await ctx.manager.invoke('gateway-receive', { timeout: 1000 })
        return pathGet(received, 'id') === ctx.message?.id
      })
      const { manager, bring } = await startOnRoads(t, kind, { skills: [skill] })
      const message = messageOf({ id: await bring('hello'), text: 'hello' })
      assert.equal(await manager.invoke('subject', {}, { message, caller: { kind: 'route' } }), true)
    })

    test('ack: false is peek-without-consume', async (t) => {
      const { manager, bring } = await startOnRoads(t, kind)
      const group = { ...TOPIC, queue: 'audit' }
      await manager.invoke('event-subscribe', group)
      await bring('one')
      for (const ack of [false, false, true]) {
        assert.deepEqual(bodies(await manager.invoke('event-wait', { ...group, ack })), ['one'])
      }
      assert.deepEqual(await manager.invoke('event-wait', { ...group, timeout: 0 }), [])
    })

    const ways: [string, string | undefined, string | undefined, boolean][] = [
      ['no allowed-tools: everything is allowed, callbacks included', undefined, undefined, true],
      ['allowed-tools: "*": everything is allowed, callbacks included', '*', undefined, true],
      [
        'allowed-tools: "callback-*" allows any callback created with the default label',
        'callback-*',
        undefined,
        true,
      ],
      ['allowed-tools: "callback-*" allows no custom label', 'callback-*', 'my-hook', false],
      ['custom label, then allow with allowed-tools: "my-hook-*"', 'my-hook-*', 'my-hook', true],
      ['the callback name must match the spec for the invocation to succeed', 'state-*', undefined, false],
    ]
    for (const [statement, allowed, label, succeeds] of ways) {
      test(statement, async (t) => {
        const metadata = allowed === undefined ? {} : { 'allowed-tools': allowed }
        const caller = skillOf(
          ({ args, manager }) => manager.invoke(String(pathGet(args, 'ref')), { n: 1 }),
          {
            name: 'caller',
            metadata,
          },
        )
        const skill = skillOf(async (ctx: SkillContext) => {
          const { ref, release } = await createCallbackRef(ctx, (args) => args, label)
          try {
            return await ctx.manager.invoke('caller', { ref })
          } finally {
            await release()
          }
        })
        const { manager } = await startOnRoads(t, kind, { skills: [skill, caller] })
        if (succeeds) assert.deepEqual(await manager.invoke('subject'), { n: 1 })
        else await assert.rejects(manager.invoke('subject'), { code: 'forbidden' })
      })
    }
  })
}
