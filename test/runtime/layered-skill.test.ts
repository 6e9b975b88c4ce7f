import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { defineMiddleware } from '../../src/core/skill.ts'
import { createApprovalMiddleware } from '../../src/features/approvals/middleware.ts'
import { createLayeredSkill } from '../../src/runtime/layered-skill.ts'
import { createMemberTest } from '../../src/runtime/middleware/access.ts'
import { createMiddleware } from '../../src/runtime/middleware/index.ts'
import { createNameMatcher } from '../../src/runtime/names.ts'
import { createFolder } from './support/folder.ts'
import { skillOf, startManager } from './support/manager.ts'
import { startRuntime } from './support/runtime.ts'

/** A middleware that records when it starts and ends. */
const recording = (name: string, order: number, notes: string[]) =>
  defineMiddleware({
    name,
    order,
    description: name,
    setup: (settings) => async (_ctx, next) => {
      notes.push(`${name}(${settings})>`)
      const result = await next()
      notes.push(`<${name}`)
      return result
    },
  })

describe('layers of middleware', () => {
  test('run if the metadata names them, those with a lower order further outside', async (t) => {
    const notes: string[] = []
    const middleware = [
      recording('inner', 2, notes),
      recording('outer', 1, notes),
      recording('unused', 3, notes),
    ]
    const skill = skillOf(() => notes.push('run'), { metadata: { inner: 'a', outer: 'b', author: 'me' } })
    const manager = await startManager(t, { middleware, skills: [skill] })
    await manager.invoke('subject')
    assert.deepEqual(notes, ['outer(b)>', 'inner(a)>', 'run', '<inner', '<outer'])
    assert.deepEqual(
      manager.describe('subject').layers.map(({ name, settings }) => [name, settings]),
      [
        ['outer', 'b'],
        ['inner', 'a'],
      ],
    )
  })

  test('have the order access, approval, timeout, session, allowed-tools', async (t) => {
    const metadata = { 'allowed-tools': '*', session: 'args.id', timeout: '1s', approval: true, access: '*' }
    const manager = await startManager(t, {
      middleware: [...createMiddleware(), createApprovalMiddleware()],
      skills: [skillOf(() => 1, { metadata })],
    })
    const names = manager.describe('subject').layers.map(({ name }) => name)
    assert.deepEqual(names, ['access', 'approval', 'timeout', 'session', 'allowed-tools'])
  })
})

describe('metadata', () => {
  test('with a key similar to a middleware logs a warning, other keys do not', async (t) => {
    const folder = await createFolder(t, {
      'one/index.ts': `export default { description: 'd', metadata: { sesion: 'args.id', author: 'me' }, run: () => 1 }`,
    })
    const manager = await startManager(t, { folders: [folder], middleware: createMiddleware() })
    const warnings = manager.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)
    assert.deepEqual(warnings, ['metadata.sesion has no effect; did you mean session?'])
  })
})

test('a timeout in the metadata ends the skill after that time', async (t) => {
  const skill = skillOf(() => new Promise(() => {}), { metadata: { timeout: '20ms' } })
  const { manager } = await startRuntime(t, { skills: [skill] })
  await assert.rejects(manager.invoke('subject'), { code: 'skill_timeout' })
})

describe('allowed-tools', () => {
  const start = (t: TestContext, allowed: string | string[] | undefined) => {
    const skill = skillOf((ctx) => ctx.manager.invoke(String(Object(ctx.args).invoke)), {
      ...(allowed === undefined ? {} : { metadata: { 'allowed-tools': allowed } }),
    })
    const tool = skillOf((ctx) => ctx.manager.invoke('helper'), { name: 'tool-a' })
    const helper = skillOf(() => 'helped', { name: 'helper' })
    return startRuntime(t, { skills: [skill, tool, helper] })
  }

  test('names, globs and lists allow what they match; others are denied with a warning', async (t) => {
    for (const allowed of ['other tool-*', 'other, tool-*', ['other', 'tool-a']]) {
      const { manager } = await start(t, allowed)
      assert.equal(await manager.invoke('subject', { invoke: 'tool-a' }), 'helped')
      await assert.rejects(manager.invoke('subject', { invoke: 'helper' }), { code: 'forbidden' })
      const line = manager.lines.find(({ level }) => level === 'warn')
      assert.equal(Object(line?.fields).denied, 'helper')
    }
  })

  test('a skill can have the name of a property of Object.prototype', async (t) => {
    const { manager } = await startRuntime(t, {
      skills: [
        skillOf(({ manager }) => manager.invoke('constructor'), { metadata: { 'allowed-tools': '*' } }),
        skillOf(() => 'constructed', { name: 'constructor' }),
      ],
    })
    assert.equal(await manager.invoke('subject'), 'constructed')
  })

  test('middleware is exempt', async (t) => {
    const audit = defineMiddleware({
      name: 'audit',
      order: 500,
      description: 'a',
      setup: () => async (ctx, next) => [await ctx.manager.invoke('helper'), await next()],
    })
    const skill = skillOf(() => 'own', { metadata: { audit: true, 'allowed-tools': 'nothing' } })
    const { manager } = await startRuntime(t, {
      skills: [skill, skillOf(() => 'helped', { name: 'helper' })],
      manager: { middleware: [...createMiddleware(), audit] },
    })
    assert.deepEqual(await manager.invoke('subject'), ['helped', 'own'])
  })
})

describe('access', () => {
  const from = (id: string | undefined, ...roles: string[]) => ({
    caller: { kind: 'route' as const, ...(id ? { id } : {}), roles },
  })

  test('lets only the named senders and roles invoke a skill, also through other skills', async (t) => {
    const guarded = skillOf(() => 'secret', { metadata: { access: ['mail:*@example.com', 'role:admin'] } })
    const outer = skillOf((ctx) => ctx.manager.invoke('subject'), { name: 'outer' })
    const { manager } = await startRuntime(t, { skills: [guarded, outer] })
    assert.equal(await manager.invoke('subject', {}, from('mail:a@example.com')), 'secret')
    assert.equal(await manager.invoke('subject', {}, from('mail:b@evil.test', 'admin')), 'secret')
    assert.equal(await manager.invoke('subject', {}, { caller: { kind: 'cli' } }), 'secret')
    for (const sender of [
      from('mail:b@evil.test'),
      from('hook:a@example.com'),
      from('mail:external:a@example.com'),
      from(undefined),
    ]) {
      await assert.rejects(manager.invoke('subject', {}, sender), { code: 'forbidden' })
      await assert.rejects(manager.invoke('outer', {}, sender), { code: 'forbidden' })
    }
  })

  test('refuses a member or approver without a gateway, with a suggestion', () => {
    const middleware = [...createMiddleware(), createApprovalMiddleware()]
    for (const metadata of [{ access: ['ada'] }, { approval: { approvers: ['ada'] } }]) {
      const skill = skillOf(() => 'secret', { metadata })
      const refusal = /"ada" has no gateway; write <gateway>:ada or \*:ada or role:ada/
      assert.throws(() => createLayeredSkill(skill, middleware, { isBuiltIn: false }), refusal)
    }
  })

  test('rules limit the skills that a sender invokes, but not those that such a skill invokes', async (t) => {
    const outer = skillOf((ctx) => ctx.manager.invoke('inner'), { name: 'outer' })
    const inner = skillOf(() => 1, { name: 'inner' })
    const access = [
      { isMember: createMemberTest(['*']), skills: createNameMatcher('outer') },
      { isMember: createMemberTest(['role:admin']), skills: createNameMatcher('*') },
    ]
    const { manager } = await startRuntime(t, {
      skills: [outer, inner],
      manager: { middleware: createMiddleware({ access: () => access }) },
    })
    assert.equal(await manager.invoke('outer', {}, from('x')), 1)
    await assert.rejects(manager.invoke('inner', {}, from('x')), { code: 'forbidden' })
    assert.equal(await manager.invoke('inner', {}, from('x', 'admin')), 1)
  })
})
