import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Approval } from '../../src/core/approval.ts'
import { objectsIn, pathGet } from '../../src/core/json.ts'
import { HOUR } from '../../src/core/units.ts'
import { createApprovalMiddleware } from '../../src/features/approvals/middleware.ts'
import { until } from '../fixtures/until.ts'
import { skillOf } from '../runtime/support/manager.ts'
import { messageOf } from '../runtime/support/message.ts'
import { type Runtime, startRuntime } from '../runtime/support/runtime.ts'
import { openStore, storeKinds } from '../runtime/support/store.ts'

const operator = { caller: { kind: 'cli' as const } }

function guarded(approval: true | object = true) {
  const runs: unknown[] = []
  const skill = skillOf((ctx) => runs.push(ctx.args), { metadata: { approval: approval as never } })
  return { runs, skill }
}

type Manager = Runtime['manager']

async function pendingId(manager: Manager): Promise<string> {
  return until(async () => {
    const id = pathGet(await manager.invoke('approval-list', { status: 'pending' }), '0.id')
    return typeof id === 'string' ? id : undefined
  }, 'a request for approval')
}

for (const kind of storeKinds()) {
  describe(`approvals on the ${kind.kind} store`, () => {
    test('refuse the second of two opposite decisions at the same time', async (t) => {
      const { skill } = guarded()
      const store = await kind.open(t, await kind.place(t))
      const { manager } = await startRuntime(t, { skills: [skill], store })
      const running = manager.invoke('subject', {}, operator).catch((error: Error) => error)
      const id = await pendingId(manager)
      const decisions = await Promise.allSettled(
        [true, false].map((approve) => manager.invoke('approval-decide', { id, approve }, operator)),
      )
      const refused = decisions.filter((decision) => decision.status === 'rejected')
      assert.deepEqual(
        refused.map(({ reason }) => reason.code),
        ['approval_decided'],
      )
      await running
    })
  })
}

test('the list finds requests by a text in their arguments, title, people or reason', async (t) => {
  const { skill } = guarded({ title: 'Refund' })
  const { manager } = await startRuntime(t, { skills: [skill] })
  const running = [4711, 4820].map((order) => manager.invoke('subject', { order }, operator))
  const found = async (args: object) => objectsIn(await manager.invoke('approval-list', args))
  const pending = await until(async () => {
    const all = await found({ status: 'pending' })
    return all.length === 2 ? all : undefined
  }, 'both requests')
  const orders = (list: readonly object[]) => list.map((one) => pathGet(one, 'args.order'))
  assert.deepEqual(orders(await found({ text: '4820' })), [4820])
  assert.deepEqual(orders(await found({ text: 'ORDER: 47' })), [4711])
  assert.deepEqual(await found({ text: 'nothing like it' }), [])
  const id = String(pending.find((one) => pathGet(one, 'args.order') === 4711)?.id)
  await manager.invoke('approval-decide', { id, approve: true, reason: 'has a photo' }, operator)
  assert.deepEqual(orders(await found({ text: 'photo', status: 'approved' })), [4711])
  for (const one of pending.filter((other) => other.id !== id))
    await manager.invoke('approval-decide', { id: String(one.id), approve: true }, operator)
  await Promise.all(running)
})

test('a second decision says that it changes nothing, or who decided before', async (t) => {
  const { skill } = guarded()
  const { manager } = await startRuntime(t, { skills: [skill] })
  const running = manager.invoke('subject', {}, operator)
  const id = await pendingId(manager)
  const decide = (approve: boolean) => manager.invoke('approval-decide', { id, approve }, operator)
  assert.equal(pathGet(await decide(true), 'repeated'), undefined)
  await running
  assert.equal(pathGet(await decide(true), 'repeated'), true)
  await assert.rejects(decide(false), /already decided: approved by .*, 20\d\d-.* UTC\.$/)
})

test('a list of approvals leaves out the oldest decisions first, and keeps its order', async (t) => {
  let now = 1000
  const { services, manager } = await startRuntime(t, { now: () => (now += 10) })
  const request = async (key: string) => {
    const details = { skill: 'pay', args: {}, title: key, by: 'ada', approvers: [], trace: 't' }
    const { id } = await services.approvals.request({ ...details, key, timeout: HOUR, onTimeout: 'deny' })
    return id
  }
  const decide = (id: string) => manager.invoke('approval-decide', { id, approve: false }, operator)
  const [first, second] = [await request('decided last'), await request('decided first')]
  await decide(second)
  await decide(first)
  for (const key of ['pending 1', 'pending 2']) await request(key)
  const titles = async (limit: number) =>
    objectsIn(await manager.invoke('approval-list', { limit })).map(({ title }) => title)
  assert.deepEqual(await titles(1), ['pending 1'])
  assert.deepEqual(await titles(3), ['decided last', 'pending 1', 'pending 2'])
})

test('a list of approvals of a time has those that were decided then, or that wait since then', async (t) => {
  const clock = { now: Date.parse('2026-11-20T10:00:00Z') }
  const { services, manager } = await startRuntime(t, { now: () => clock.now })
  const request = async (key: string) => {
    const details = { skill: 'pay', args: {}, title: key, by: 'ada', approvers: [], trace: 't' }
    return services.approvals.request({ ...details, key, timeout: HOUR, onTimeout: 'deny' })
  }
  const early = await request('decided at 10:30')
  await request('expired at 11:00')
  clock.now += HOUR / 2
  await manager.invoke('approval-decide', { id: early.id, approve: false }, operator)
  clock.now += HOUR / 2
  await manager.invoke('approval-list', {})
  clock.now += HOUR / 2
  await request('waits since 11:30')
  const listed = async (range: object) =>
    objectsIn(await manager.invoke('approval-list', range)).map(({ title }) => title)
  const at = (time: string) => `2026-11-20T${time}:00Z`
  assert.deepEqual(await listed({ until: at('10:30') }), [])
  assert.deepEqual(await listed({ since: at('10:30'), until: at('11:00') }), ['decided at 10:30'])
  assert.deepEqual(await listed({ since: at('11:00'), until: at('11:30') }), ['expired at 11:00'])
  assert.deepEqual(await listed({ since: at('11:30') }), ['waits since 11:30'])
  assert.equal((await listed({})).length, 3)
})

describe('a dispatched skill that needs an approval', () => {
  const dispatch = (manager: Manager, args: object = { n: 1 }) =>
    manager.invoke('subject', args, {
      message: messageOf(),
      caller: { kind: 'route', id: 'alice' },
      rootId: 'root-1',
    })
  const start = async (
    t: TestContext,
    approval: true | object = true,
    options: Partial<Parameters<typeof startRuntime>[1]> = {},
  ) => {
    const { runs, skill } = guarded(approval)
    const sent: string[] = []
    const resumed: Approval[] = []
    const runtime = await startRuntime(t, {
      skills: [skill],
      resume: async (one) => void resumed.push(one),
      manager: { middleware: [createApprovalMiddleware(async ({ id }) => void sent.push(id))] },
      ...options,
    })
    return { ...runtime, runs, sent, resumed }
  }

  for (const [onTimeout, runsAfter] of [
    ['deny', 0],
    ['approve', 1],
  ] as const) {
    test(`is resumed at the timeout with the outcome ${onTimeout}`, async (t) => {
      let now = 1000
      const settings = { timeout: '1m', 'on-timeout': onTimeout }
      const { manager, services, runs, resumed } = await start(t, settings, { now: () => now })
      await assert.rejects(dispatch(manager), { code: 'approval_pending' })
      now += 60_000
      await services.approvals.sweep()
      await services.approvals.sweep()
      assert.equal(resumed.length, 1)
      await dispatch(manager)
      assert.equal(runs.length, runsAfter)
    })
  }

  test('is resumed even if another one cannot be', async (t) => {
    let now = 1000
    const resumed: string[] = []
    const { manager, services } = await start(
      t,
      { timeout: '1m' },
      {
        now: () => now,
        resume: async ({ args }) => {
          if (pathGet(args, 'n') === 1) throw new Error('its gateway is gone')
          resumed.push(JSON.stringify(args))
        },
      },
    )
    await assert.rejects(dispatch(manager, { n: 1 }), { code: 'approval_pending' })
    now += 1
    await assert.rejects(dispatch(manager, { n: 2 }), { code: 'approval_pending' })
    now += 60_000
    await assert.rejects(services.approvals.sweep(), /its gateway is gone/)
    assert.deepEqual(resumed, ['{"n":2}'])
  })

  test('keeps fields that a newer daemon stored with its request', async (t) => {
    const store = await openStore(t)
    const { manager } = await start(t, true, { store })
    await assert.rejects(dispatch(manager), { code: 'approval_pending' })
    const id = await pendingId(manager)
    const stored = (await store.kv.get(`approval:${id}`))?.value
    await store.kv.set(`approval:${id}`, { ...Object(stored), quorum: 2 })
    await manager.invoke('approval-decide', { id, approve: true }, operator)
    const { quorum, status } = Object((await store.kv.get(`approval:${id}`))?.value)
    assert.deepEqual([quorum, status], [2, 'approved'])
  })

  for (const [reasonGoesTo, calledBy] of [['sender'], ['skill', 'helper']] as const) {
    test(`gives the reason of a denial to the ${reasonGoesTo}, as its request says`, async (t) => {
      const { skill } = guarded()
      const helper = { ...skillOf((ctx) => ctx.manager.invoke('subject', ctx.args)), name: 'helper' }
      const { manager } = await startRuntime(t, { skills: [skill, helper] })
      const run = () =>
        manager.invoke(
          calledBy ?? 'subject',
          { n: 1 },
          {
            message: messageOf(),
            caller: { kind: 'route', id: 'alice' },
            rootId: 'root-1',
          },
        )
      await assert.rejects(run(), { code: 'approval_pending' })
      const denial = { id: await pendingId(manager), approve: false, reason: 'no photo' }
      const denied = Object(await manager.invoke('approval-decide', denial, operator))
      assert.deepEqual([denied.reasonGoesTo, denied.calledBy], [reasonGoesTo, calledBy])
      if (calledBy === undefined) assert.match(JSON.stringify(await run()), /denied it: no photo/)
      else await assert.rejects(run(), { code: 'approval_denied', message: /denied it: no photo/ })
    })
  }

  test('is resumed by the next sweep after a crash between decision and dispatch', async (t) => {
    let crashes = true
    const resumed: string[] = []
    const { manager, services } = await start(t, true, {
      resume: async ({ id }) => {
        if (crashes) throw new Error('crash')
        resumed.push(id)
      },
    })
    await assert.rejects(dispatch(manager), { code: 'approval_pending' })
    const id = await pendingId(manager)
    await assert.rejects(manager.invoke('approval-decide', { id, approve: true }, operator), /crash/)
    crashes = false
    await services.approvals.sweep()
    assert.deepEqual(resumed, [id])
  })
})
