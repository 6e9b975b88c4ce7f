import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import type { SkillContext } from '../../src/core/skill.ts'
import { createToEvent } from '../../src/engine/message-event.ts'
import { transports } from '../../transports/registry.ts'
import { createCallbackRef } from './support/callback.ts'
import { skillOf } from './support/manager.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'
import { storeKinds } from './support/store.ts'

// The statements of the sections "Observing Gateway Messages" and "Callbacks and allowed-tools" in
// the specification "Runtime Skills" (not in this repository).

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
  describe(`callbacks and allowed-tools on the ${kind.kind} store`, () => {
    const ways: [statement: string, metadata: Record<string, string>, label: string, succeeds: boolean][] = [
      ['everything if it is missing', {}, 'callback', true],
      ['everything, callbacks included', { 'allowed-tools': '*' }, 'callback', true],
      ['any callback with the default label', { 'allowed-tools': 'callback-*' }, 'callback', true],
      ['no custom label if it names only `callback-*`', { 'allowed-tools': 'callback-*' }, 'my-hook', false],
      ['a custom label that it names', { 'allowed-tools': 'my-hook-*' }, 'my-hook', true],
      ['no callback that it does not match', { 'allowed-tools': 'state-*' }, 'callback', false],
    ]
    for (const [statement, metadata, label, succeeds] of ways) {
      test(`allowed-tools allows ${statement}`, async (t) => {
        const invoke = ({ args, manager }: SkillContext) =>
          manager.invoke(String(pathGet(args, 'ref')), { n: 1 })
        const caller = skillOf(invoke, { name: 'caller', metadata })
        const subject = skillOf(
          async (ctx: SkillContext) => {
            const { ref, release } = await createCallbackRef(ctx, (args) => args, label)
            try {
              return await ctx.manager.invoke('caller', { ref })
            } finally {
              await release()
            }
          },
          { name: 'subject' },
        )
        const store = await kind.open(t, await kind.place(t))
        const { manager } = await startRuntime(t, { skills: [subject, caller], store })
        if (succeeds) assert.deepEqual(await manager.invoke('subject'), { n: 1 })
        else await assert.rejects(manager.invoke('subject'), { code: 'forbidden' })
      })
    }
  })
}
