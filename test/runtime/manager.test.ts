import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import type { SkillContext } from '../../src/core/skill.ts'
import { until } from '../fixtures/until.ts'
import { skillOf, startManager } from './support/manager.ts'
import { messageOf } from './support/message.ts'

describe('invoking a skill', () => {
  test('validates its arguments, fills in defaults, and ignores undefined', async (t) => {
    const args = z.strictObject({
      n: z.number(),
      unit: z.string().default('ms'),
      queue: z.string().exactOptional(),
    })
    const manager = await startManager(t, { skills: [skillOf((ctx) => ctx.args, { args })] })
    assert.deepEqual(await manager.invoke('subject', { n: 1, queue: undefined }), { n: 1, unit: 'ms' })
  })

  test('refuses invalid arguments with the path of each, and names missing ones', async (t) => {
    const args = z.strictObject({
      value: z.json(),
      who: z.string({ error: 'say whom to greet' }),
      to: z.object({ n: z.number(), m: z.number() }),
    })
    const manager = await startManager(t, { skills: [skillOf(() => 1, { args })] })
    await assert.rejects(manager.invoke('subject', { to: { n: 'x' }, extra: 1 }), {
      code: 'skill_args_invalid',
      message:
        /value is missing; who: say whom to greet; to\.n: .*expected number.*; to\.m is missing; .*extra/,
    })
  })

  test('is permitted for later, also if it declares its output', async (t) => {
    const manager = await startManager(t, {
      skills: [skillOf(() => ({ n: 1 }), { output: z.object({ n: z.number() }) })],
    })
    let permitted = 0
    const skill = skillOf(
      async ({ call }) => {
        await manager.permit('subject', call, {})
        permitted += 1
      },
      { name: 'asking' },
    )
    const asking = await startManager(t, { skills: [skill] })
    await asking.invoke('asking')
    assert.equal(permitted, 1)
  })

  test('returns JSON to callers outside of the process, and fails if the result is not JSON', async (t) => {
    const skill = skillOf(({ args }) => (pathGet(args, 'big') ? 5n : { at: new Date(0) }))
    const manager = await startManager(t, { skills: [skill] })
    for (const caller of [{ kind: 'cli' }, { kind: 'http' }, { kind: 'mcp' }] as const) {
      assert.deepEqual(await manager.invoke('subject', {}, { caller }), { at: '1970-01-01T00:00:00.000Z' })
      await assert.rejects(
        manager.invoke('subject', { big: true }, { caller }),
        /Skill subject failed: its result is not JSON: .*BigInt/,
      )
    }
    assert.equal(await manager.invoke('subject', { big: true }), 5n)
  })

  test('wraps what a skill throws as skill_failed and keeps it as the cause', async (t) => {
    const cause = new Error('disk is full')
    const skill = skillOf(() => {
      throw cause
    })
    const manager = await startManager(t, { skills: [skill] })
    await assert.rejects(manager.invoke('subject'), { code: 'skill_failed', cause, message: /disk is full/ })
  })
})

describe('a nested invocation', () => {
  test('inherits message, trace, root id, caller, nonlocals and send counter', async (t) => {
    const seen: SkillContext[] = []
    const inner = skillOf((ctx) => void seen.push(ctx), { name: 'inner' })
    const outer = skillOf((ctx) => {
      seen.push(ctx)
      ctx.call.sends.next()
      return ctx.manager.invoke('inner')
    })
    const manager = await startManager(t, { skills: [inner, outer] })
    const caller = { kind: 'route' as const, id: 'a' }
    const nonlocals = { request: { headers: { x: '1' } } }
    await manager.invoke('subject', {}, { message: messageOf({ id: 'm1' }), caller, nonlocals })
    const [first, second] = seen
    assert.equal(second?.message?.id, 'm1')
    assert.equal(second.nonlocals, first?.nonlocals)
    const { trace, rootId, sends, depth } = second.call
    assert.deepEqual([trace, rootId, sends.count, depth], ['a'.repeat(32), first?.call.rootId, 1, 1])
    assert.deepEqual(second.call.caller, caller)
  })

  test('has its own locals, shares globals, and throws the original error', async (t) => {
    class Own extends Error {}
    const inner = skillOf(
      (ctx) => {
        assert.equal(ctx.locals.mine, undefined)
        ctx.globals.count = 1
        throw new Own('x')
      },
      { name: 'inner' },
    )
    const outer = skillOf(async (ctx) => {
      ctx.locals.mine = true
      await assert.rejects(ctx.manager.invoke('inner'), Own)
      return ctx.globals.count
    })
    const manager = await startManager(t, { skills: [inner, outer] })
    assert.equal(await manager.invoke('subject'), 1)
  })

  test('is refused beyond the depth limit', async (t) => {
    let deepest = 0
    const skill = skillOf((ctx) => {
      deepest = Math.max(deepest, ctx.call.depth)
      return ctx.manager.invoke('subject')
    })
    const manager = await startManager(t, { skills: [skill] })
    await assert.rejects(manager.invoke('subject'), { code: 'recursion_limit' })
    assert.equal(deepest, 31)
  })
})

describe('time and cancellation', () => {
  const never = () => new Promise(() => {})

  test('a deadline and a cancellation reach nested invocations through their signal', async (t) => {
    const seen: AbortSignal[] = []
    const inner = skillOf(
      ({ signal }) => {
        seen.push(signal)
        return never()
      },
      { name: 'inner' },
    )
    const outer = skillOf((ctx) => ctx.manager.invoke('inner'))
    const manager = await startManager(t, { skills: [inner, outer] })
    await assert.rejects(manager.invoke('subject', {}, { timeout: 20 }), { code: 'skill_timeout' })
    const controller = new AbortController()
    const result = manager.invoke('subject', {}, { signal: controller.signal })
    await until(() => seen.length === 2, 'the nested invocation to start')
    controller.abort(new Error('the client went away'))
    await assert.rejects(result, /cancelled: the client went away/)
    assert.deepEqual(
      seen.map(({ aborted }) => aborted),
      [true, true],
    )
  })

  test('close aborts running invocations and refuses later ones', async (t) => {
    const manager = await startManager(t, { skills: [skillOf(never)] })
    const running = assert.rejects(manager.invoke('subject'), { code: 'stopping' })
    await manager.close()
    await running
    await assert.rejects(manager.invoke('subject'), { code: 'stopping' })
  })
})
