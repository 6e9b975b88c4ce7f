import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pathGet } from '../../src/core/json.ts'
import { until } from '../fixtures/until.ts'
import { startOnRoads } from './support/roads.ts'
import { storeKinds } from './support/store.ts'

// The code of the reference, letter by letter: each stands inside the `run` of a skill that is loaded from its file.

const WAIT = `
// Wait for the next inbound message on any transport
const events = await ctx.manager.invoke('event-wait', { topic: 'gateway-message', timeout: 60000 });
// events[0].source = gateway name, events[0].data = { from, subject, body } (email) etc.
`

const SUBSCRIBE = `
await ctx.manager.invoke('event-subscribe', { topic: 'gateway-message' });
// ... events accumulate in the queue even when you're not waiting ...
await ctx.manager.invoke('bring', { text: 'one' });
await ctx.manager.invoke('bring', { text: 'two' });
const events = await ctx.manager.invoke('event-wait', { topic: 'gateway-message', timeout: 60000 });
`

const CALLBACK = `
// Create a callback
const { ref } = await ctx.manager.invoke('callback-create', { timeout: 30000 });

// Pass ref to another process/skill — they invoke it like any skill
const answer = ctx.manager.invoke('other', { ref });
// Meanwhile, wait for invocations:
const invocation = await ctx.manager.invoke('callback-wait', { ref });
// Process invocation.args, then respond:
await ctx.manager.invoke('callback-respond', { ref, id: invocation.id, result: 'done' });

// Clean up
await ctx.manager.invoke('callback-release', { ref });
`

const STATE = `
// Write and read
await ctx.manager.invoke('state-set', { key: 'user:alice:prefs', value: { theme: 'dark' } });
const prefs = await ctx.manager.invoke('state-get', { key: 'user:alice:prefs' });

// List keys by prefix
const userKeys = await ctx.manager.invoke('state-list', { prefix: 'user:alice:' });

// Wait for a key (useful for cross-skill coordination)
const job = ctx.manager.invoke('job');
const result = await ctx.manager.invoke('state-wait', { key: 'job:123:done', timeout: 30000 });

// Delete
await ctx.manager.invoke('state-delete', { key: 'user:alice:prefs' });

// Use memory backend for process-lifetime state
await ctx.manager.invoke('state-set', { key: 'counter', value: 42, store: 'memory' });
`

const skill = (code: string, result: string) =>
  `export default { description: 'A snippet.', async run(ctx) {\n${code}\nreturn ${result}\n} }`

const BRING = skill(`await ctx.globals.bring(ctx.args.text)`, 'null')

for (const kind of storeKinds()) {
  describe(`the code of the reference inside a code skill, on the ${kind.kind} store`, () => {
    test('wait for the next inbound message on any transport', async (t) => {
      const { manager, bring } = await startOnRoads(t, kind, { files: { snippet: skill(WAIT, 'events') } })
      let done = false
      const waiting = manager.invoke('snippet').finally(() => {
        done = true
      })
      // Without a subscription only what comes after the wait began counts: bring messages until one did.
      await until(async () => {
        await bring('hello')
        return done
      }, 'the wait to end')
      const events = await waiting
      assert.equal(pathGet(events, '0.source'), 'chat')
      assert.equal(pathGet(events, '0.data.body'), 'hello')
    })

    test('for buffered observation (no missed events between waits), subscribe first', async (t) => {
      const { manager } = await startOnRoads(t, kind, {
        files: { snippet: skill(SUBSCRIBE, 'events'), bring: BRING },
      })
      const events = await manager.invoke('snippet')
      assert.deepEqual(Array.isArray(events) && events.map((event) => pathGet(event, 'data.body')), [
        'one',
        'two',
      ])
    })

    test('create a callback, wait for invocations, respond, clean up', async (t) => {
      const { manager } = await startOnRoads(t, kind, {
        files: {
          snippet: skill(CALLBACK, '{ ref, args: invocation.args, answer: await answer }'),
          other: skill('const { ref } = ctx.args', `ctx.manager.invoke(ref, { n: 1 })`),
        },
      })
      const result = await manager.invoke('snippet')
      assert.match(String(pathGet(result, 'ref')), /^callback-[0-9a-f]{8}$/)
      assert.deepEqual(pathGet(result, 'args'), { n: 1 })
      assert.equal(pathGet(result, 'answer'), 'done')
    })

    test('write and read, list keys by prefix, wait for a key, delete, use the memory backend', async (t) => {
      const { manager } = await startOnRoads(t, kind, {
        files: {
          snippet: skill(STATE, '{ prefs, userKeys, result, job: await job }'),
          job: skill(
            `await ctx.manager.invoke('state-set', { key: 'job:123:done', value: { ok: 1 } })`,
            `'finished'`,
          ),
        },
      })
      assert.deepEqual(await manager.invoke('snippet'), {
        prefs: { theme: 'dark' },
        userKeys: ['user:alice:prefs'],
        result: { ok: 1 },
        job: 'finished',
      })
      assert.equal(await manager.invoke('state-get', { key: 'user:alice:prefs' }), null)
      assert.equal(await manager.invoke('state-get', { key: 'counter' }), null)
      assert.equal(await manager.invoke('state-get', { key: 'counter', store: 'memory' }), 42)
    })
  })
}
