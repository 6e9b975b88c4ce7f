import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { SkillContext } from '../../src/core/skill.ts'
import { createRefSubscriptions } from '../../src/gateway/event-refs.ts'
import { createEvents } from '../../src/gateway/events.ts'
import { createReceive } from '../../src/gateway/receive.ts'
import { until } from '../fixtures/until.ts'
import { createMemoryLog } from './support/log.ts'
import { skillOf } from './support/manager.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'
import { type StoreKind, storeKinds } from './support/store.ts'

const mail = (text: string): NewMessage => ({
  gateway: 'chat',
  transport: 'websocket',
  conversation: 'c1',
  from: { id: 'alice' },
  text,
  data: {},
})

/** Runs `body` as a code skill on the real events and receive roads; `accept` brings a message in. */
async function runSkill(
  t: TestContext,
  kind: StoreKind,
  body: (ctx: SkillContext, accept: (text: string) => Promise<string>) => Promise<unknown>,
  options: { dispatched?: boolean } = {},
): Promise<unknown> {
  const store = await kind.open(t, await kind.place(t))
  const refs = createRefSubscriptions({
    store,
    owner: 'test',
    invoke: async () => undefined,
    log: createMemoryLog(),
    now: Date.now,
  })
  const accept = async (text: string) => {
    const [accepted] = await store.journal.accept([mail(text)])
    assert.ok(accepted)
    return accepted.id
  }
  const { manager } = await startRuntime(t, {
    store,
    skills: [skillOf((ctx) => body(ctx, accept))],
    services: {
      events: createEvents({ store, refs, now: Date.now }),
      receive: createReceive({ store, taken() {} }),
    },
  })
  if (!options.dispatched) return manager.invoke('subject')
  const message = messageOf({ id: await accept('first'), text: 'first' })
  return manager.invoke('subject', {}, { message, rootId: message.id, caller: { kind: 'route' } })
}

for (const kind of storeKinds()) {
  describe(`a code skill on the roads of the ${kind.kind} store`, () => {
    test('event-wait on gateway-message returns the next inbound message as an event', async (t) => {
      const result = await runSkill(t, kind, async (ctx, accept) => {
        const waiting = ctx.manager.invoke('event-wait', { topic: 'gateway-message', timeout: 60000 })
        // Without a subscription only what comes after the wait began counts: bring messages until one did.
        let done = false
        const ended = waiting.finally(() => {
          done = true
        })
        await until(async () => (await accept('hello')) && done, 'the wait to end')
        const events = await ended
        return [pathGet(events, '0.source'), pathGet(events, '0.type'), pathGet(events, '0.data.body')]
      })
      assert.deepEqual(result, ['chat', 'websocket', 'hello'])
    })

    test('event-subscribe first, and events accumulate while nobody waits', async (t) => {
      const result = await runSkill(t, kind, async (ctx, accept) => {
        await ctx.manager.invoke('event-subscribe', { topic: 'gateway-message' })
        await accept('one')
        await accept('two')
        const events = await ctx.manager.invoke('event-wait', { topic: 'gateway-message', timeout: 60000 })
        return Array.isArray(events) && events.map((event) => pathGet(event, 'data.body'))
      })
      assert.deepEqual(result, ['one', 'two'])
    })

    test('ack: false peeks without consuming, until event-ack', async (t) => {
      const result = await runSkill(t, kind, async (ctx, accept) => {
        const group = { topic: 'gateway-message', queue: 'audit' }
        await ctx.manager.invoke('event-subscribe', group)
        const id = await accept('one')
        const peek = () => ctx.manager.invoke('event-wait', { ...group, ack: false, timeout: 0 })
        const lengths = [await peek(), await peek()].map((events) => Array.isArray(events) && events.length)
        await ctx.manager.invoke('event-ack', { ...group, ids: [id] })
        return [...lengths, await peek()]
      })
      assert.deepEqual(result, [1, 1, []])
    })

    test('named consumer groups observe independently', async (t) => {
      const result = await runSkill(t, kind, async (ctx, accept) => {
        const groups = ['audit', 'stats'].map((queue) => ({ topic: 'gateway-message', queue }))
        for (const group of groups) await ctx.manager.invoke('event-subscribe', group)
        await accept('one')
        const seen = await Promise.all(groups.map((group) => ctx.manager.invoke('event-wait', group)))
        return seen.map((events) => pathGet(events, '0.data.body'))
      })
      assert.deepEqual(result, ['one', 'one'])
    })

    test('a dispatched skill that calls gateway-receive gets the same message there too', async (t) => {
      const run = async (ctx: SkillContext) => {
        const taken = await ctx.manager.invoke('gateway-receive', {})
        const again = await ctx.manager.invoke('gateway-receive', { timeout: 0 })
        return [pathGet(taken, 'id') === ctx.message?.id, pathGet(taken, 'text'), again]
      }
      assert.deepEqual(await runSkill(t, kind, run, { dispatched: true }), [true, 'first', null])
    })

    test('gateway-receive consumes; reading events consumes nothing', async (t) => {
      const result = await runSkill(t, kind, async (ctx, accept) => {
        await ctx.manager.invoke('event-subscribe', { topic: 'gateway-message', queue: 'audit' })
        await accept('one')
        await ctx.manager.invoke('event-wait', { topic: 'gateway-message', queue: 'audit' })
        const taken = await Promise.all([
          ctx.manager.invoke('gateway-receive', { timeout: 200 }),
          ctx.manager.invoke('gateway-receive', { timeout: 200 }),
        ])
        return taken.map((one) => pathGet(one, 'text')).toSorted()
      })
      assert.deepEqual(result, ['one', undefined])
    })
  })
}
