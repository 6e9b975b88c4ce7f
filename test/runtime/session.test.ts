import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { z } from 'zod'
import { pathGet, toJson } from '../../src/core/json.ts'
import type { Skill, SkillContext } from '../../src/core/skill.ts'
import { HOUR } from '../../src/core/units.ts'
import { createFolder } from './support/folder.ts'
import { skillOf } from './support/manager.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'
import { storeKinds } from './support/store.ts'

/** A skill that returns the `n` of each invocation that its session remembers. */
const recall = (session: string | object, extra: Partial<Skill> = {}) =>
  skillOf(remembered, { metadata: { session: toJson(session) }, ...extra })

const sorted = (value: unknown) =>
  Array.isArray(value) ? value.map(Number).toSorted((a, b) => a - b) : value

const remembered = (ctx: SkillContext) => {
  const entries = pathGet(ctx.locals, 'session.entries')
  return Array.isArray(entries) ? entries.map((entry) => pathGet(entry, 'args.n')) : undefined
}

for (const kind of storeKinds()) {
  for (const store of ['memory', 'file', 'shared']) {
    describe(`a session in ${store} with the ${kind.kind} store`, () => {
      const start = async (t: TestContext, settings: object = {}) => {
        const skill = recall({ key: 'args.id', store, ...settings })
        return startRuntime(t, { skills: [skill], store: await kind.open(t, await kind.place(t)) })
      }

      test('gives code skills the history of their conversation in ctx.locals.session, oldest first', async (t) => {
        const { manager } = await start(t)
        assert.deepEqual(await manager.invoke('subject', { id: 's', n: 1 }), [])
        await manager.invoke('subject', { id: 's', n: 2 })
        assert.deepEqual(await manager.invoke('subject', { id: 'other', n: 9 }), [])
        assert.deepEqual(await manager.invoke('subject', { id: 's', n: 3 }), [1, 2])
      })

      test('loses no entry when many turns of one conversation run concurrently', async (t) => {
        const { manager } = await start(t)
        const numbers = Array.from({ length: 40 }, (_, n) => n)
        await Promise.all(numbers.map((n) => manager.invoke('subject', { id: 's', n })))
        assert.deepEqual(sorted(await manager.invoke('subject', { id: 's' })), numbers)
      })

      test('is listed and deleted without naming its store', async (t) => {
        const { manager } = await start(t)
        await manager.invoke('subject', { id: 's', n: 1 })
        const listed = await manager.invoke('session-list')
        assert.deepEqual([pathGet(listed, '0.key'), pathGet(listed, '0.store')], ['s', store])
        const session = { name: 'subject', key: 's' }
        assert.deepEqual(await manager.invoke('session-delete', session), { ok: true, existed: true })
        assert.deepEqual(await manager.invoke('session-delete', session), { ok: true, existed: false })
        assert.deepEqual(await manager.invoke('session-list'), [])
      })
    })
  }
}

describe('the size of a session', () => {
  test('is limited: long texts and traces are cut, and the oldest turns are removed and counted', async (t) => {
    const session = { key: 'args.id', name: 'subject' }
    const skill = recall(session, {
      run: (ctx) => {
        ctx.locals.agent = { trace: Array.from({ length: 30 }, () => 'y'.repeat(10_000)) }
        return 'z'.repeat(15_000)
      },
    })
    const { manager, services } = await startRuntime(t, { skills: [skill] })
    const TURNS = 20
    for (let n = 0; n < TURNS; n++) await manager.invoke('subject', { id: 's', n, text: 'x'.repeat(200_000) })
    const entries = await services.sessions.read({ name: 'subject', key: 's', store: 'memory' })
    assert.ok(JSON.stringify(entries).length < 256_000)
    assert.equal((entries[0]?.dropped ?? 0) + entries.length, TURNS)
    const last = entries.at(-1)
    assert.match(String(pathGet(last, 'args.text')), /^x{16000} \[184000 characters omitted\]$/)
    assert.match(String(last?.agent), /characters omitted\]$/)
    assert.equal(String(last?.result).length, 15_000)
  })
})

describe('session settings', () => {
  test('with an empty key there is no session, so strangers share nothing', async (t) => {
    const { manager } = await startRuntime(t, { skills: [recall('args.id')] })
    for (const n of [1, 2]) assert.equal(await manager.invoke('subject', { id: '', n }), undefined)
  })

  test('the key can be an argument that is not in the schema', async (t) => {
    const { manager } = await startRuntime(t, {
      skills: [recall('args.sessionId', { args: z.object({ n: z.number() }) })],
    })
    await manager.invoke('subject', { sessionId: 's', n: 1 })
    assert.deepEqual(await manager.invoke('subject', { sessionId: 's', n: 2 }), [1])
    assert.equal(await manager.invoke('subject', { n: 3 }), undefined)
  })

  test('the same conversation id on two gateways gives two sessions', async (t) => {
    const { manager } = await startRuntime(t, { skills: [recall('args.sessionId')] })
    const from = (gateway: string) => ({ message: messageOf({ gateway, conversation: 'c' }) })
    await manager.invoke('subject', { sessionId: 'c', n: 1 }, from('one'))
    assert.deepEqual(await manager.invoke('subject', { sessionId: 'c' }, from('two')), [])
    assert.deepEqual(await manager.invoke('subject', { sessionId: 'c' }, from('one')), [1])
  })

  test('each skill has its own sessions, unless two skills set the same name', async (t) => {
    const named = { key: 'args.id', name: 'ours' }
    const { manager } = await startRuntime(t, {
      skills: [
        recall('args.id', { name: 'one' }),
        recall('args.id', { name: 'two' }),
        recall(named, { name: 'three' }),
        recall(named, { name: 'four' }),
      ],
    })
    await manager.invoke('one', { id: 's', n: 1 })
    assert.deepEqual(await manager.invoke('two', { id: 's' }), [])
    await manager.invoke('three', { id: 's', n: 3 })
    assert.deepEqual(await manager.invoke('four', { id: 's' }), [3])
  })

  test('an invocation that throws adds no entry', async (t) => {
    const run = (ctx: SkillContext) => {
      if (pathGet(ctx.args, 'fail')) throw new Error('no')
      return remembered(ctx)
    }
    const { manager } = await startRuntime(t, { skills: [recall('args.id', { run })] })
    await assert.rejects(manager.invoke('subject', { id: 's', fail: true }))
    assert.deepEqual(await manager.invoke('subject', { id: 's' }), [])
  })

  test('a session is removed after its retention', async (t) => {
    let now = 0
    const settings = { key: 'args.id', store: 'file', retention: '1h' }
    const { manager, services } = await startRuntime(t, { skills: [recall(settings)], now: () => now })
    await manager.invoke('subject', { id: 's', n: 1 })
    now = HOUR
    assert.deepEqual(await services.sessions.read({ name: 'subject', key: 's', store: 'file' }), [])
    await services.sweep()
    assert.deepEqual(await manager.invoke('session-list', { store: 'file' }), [])
  })

  test('invalid settings are an error of the skill', async (t) => {
    const text = (session: string) =>
      `export default { description: 'd', metadata: { session: ${session} }, run: () => 1 }`
    const folder = await createFolder(t, {
      'one/index.ts': text('{ key: "args.id", capture: ["$everything"] }'),
      'two/index.ts': text('{ kee: "args.id" }'),
    })
    const { manager } = await startRuntime(t, { manager: { folders: [folder] } })
    const reasons = manager.errors().map(({ reason }) => reason)
    assert.match(reasons[0] ?? '', /metadata\.session: .*capture\[0\]/)
    assert.match(reasons[1] ?? '', /metadata\.session: .*kee/)
  })
})

describe('capture', () => {
  const captured = async (t: TestContext, setting: string) => {
    const skill = recall(
      { key: 'args.id', ...(setting && { capture: [setting] }) },
      {
        run(ctx) {
          ctx.locals.agent = { trace: agent }
          ctx.locals.someData = { x: 1 }
          return result
        },
      },
    )
    const { manager, services } = await startRuntime(t, { skills: [skill] })
    await manager.invoke('subject', { id: 's', message: 'hi' })
    const [entry] = await services.sessions.read({ name: 'subject', key: 's', store: 'memory' })
    assert.ok(entry && entry.at > 0)
    const { at: _, ...rest } = entry
    return rest
  }
  const args = { id: 's', message: 'hi' }
  const result = { summary: 'short', body: 'long' }
  const agent = [{ role: 'user' }]
  const cases = {
    '': { args, result, agent },
    $all: { args, result, agent },
    $args: { args },
    $result: { result },
    $agent: { agent },
    'args.message': { values: { 'args.message': 'hi' } },
    'result.summary': { values: { 'result.summary': 'short' } },
    'locals.someData': { values: { 'locals.someData': { x: 1 } } },
    'args.nope': {},
  }
  for (const [setting, expected] of Object.entries(cases)) {
    test(`selects the fields of an entry: ${setting || 'all by default'}`, async (t) => {
      assert.deepEqual(await captured(t, setting), expected)
    })
  }

  test('keeps only the id of the message, once even if it is dispatched again', async (t) => {
    const { manager, services } = await startRuntime(t, { skills: [recall('args.sessionId')] })
    const message = messageOf({ text: 'x'.repeat(10_000) })
    for (const _ of [1, 2]) await manager.invoke('subject', { sessionId: 's', message }, { message })
    const entries = await services.sessions.read({ name: 'subject', key: 's', store: 'memory' })
    assert.deepEqual(
      entries.map((entry) => pathGet(entry, 'args.message')),
      [{ id: message.id }],
    )
  })

  test('keeps one entry per message, whatever is captured and however large it is', async (t) => {
    const message = messageOf({})
    const long = Array.from({ length: 30_000 }, (_, item) => item)
    for (const capture of ['$all', '$args', '$result', '$agent', 'args.text']) {
      const session = { key: 'args.sessionId', capture: [capture] }
      const { manager, services } = await startRuntime(t, { skills: [recall(session)] })
      for (const _ of [1, 2]) await manager.invoke('subject', { sessionId: 's', message, long }, { message })
      const entries = await services.sessions.read({ name: 'subject', key: 's', store: 'memory' })
      assert.deepEqual(
        entries.map(({ messageId }) => messageId),
        [message.id],
        capture,
      )
    }
  })

  test('keeps an entry for each call of a skill by another skill for the same message', async (t) => {
    const caller = skillOf(
      async ({ manager: skills, args }) => {
        for (const n of [1, 2]) await skills.invoke('subject', { id: 's', n })
        return pathGet(args, 'text')
      },
      { name: 'caller' },
    )
    const { manager, services } = await startRuntime(t, { skills: [recall('args.id'), caller] })
    const message = messageOf({})
    await manager.invoke('caller', { message }, { message })
    const entries = await services.sessions.read({ name: 'subject', key: 's', store: 'memory' })
    assert.deepEqual(
      entries.map((entry) => pathGet(entry, 'args.n')),
      [1, 2],
    )
  })

  test('of a result that is not JSON does not make the skill fail', async (t) => {
    const { manager } = await startRuntime(t, { skills: [recall('args.id', { run: () => ({ n: 1n }) })] })
    assert.deepEqual(await manager.invoke('subject', { id: 's' }), { n: 1n })
  })
})
