import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type Runtime, startRuntime } from './support/runtime.ts'
import { storeKinds } from './support/store.ts'

const createRef = async ({ manager }: Runtime, args: object = {}): Promise<string> =>
  Object(await manager.invoke('callback-create', args)).ref

const nextCall = async ({ manager }: Runtime, ref: string): Promise<{ id: string; args: object }> =>
  Object(await manager.invoke('callback-wait', { ref, timeout: 10_000 }))

for (const kind of storeKinds()) {
  describe(`callbacks on the ${kind.kind} store`, () => {
    const start = async (t: TestContext) =>
      startRuntime(t, { store: await kind.open(t, await kind.place(t)) })

    test('100 concurrent invocations get their own results, in any order', async (t) => {
      const runtime = await start(t)
      const ref = await createRef(runtime, { timeout: 30_000 })
      const results = Promise.all(Array.from({ length: 100 }, (_, n) => runtime.manager.invoke(ref, { n })))
      const respond = async () => {
        const calls = []
        for (let n = 0; n < 100; n++) calls.push(await nextCall(runtime, ref))
        for (const { id, args } of calls.reverse())
          await runtime.manager.invoke('callback-respond', { ref, id, result: args })
      }
      const [answers] = await Promise.all([results, respond()])
      assert.deepEqual(
        answers,
        Array.from({ length: 100 }, (_, n) => ({ n })),
      )
    })

    test('a release ends invocations that wait for an answer, and waits for invocations', async (t) => {
      const runtime = await start(t)
      const ref = await createRef(runtime)
      const caller = assert.rejects(runtime.manager.invoke(ref), { code: 'callback_released' })
      await nextCall(runtime, ref)
      const responder = assert.rejects(runtime.manager.invoke('callback-wait', { ref }), {
        code: 'callback_released',
      })
      assert.deepEqual(await runtime.manager.invoke('callback-release', { ref }), { ok: true })
      await Promise.all([caller, responder])
      assert.deepEqual(await runtime.manager.invoke('callback-release', { ref }), { ok: false })
      await assert.rejects(runtime.manager.invoke(ref), { code: 'callback_released' })
    })
  })
}

test('a wait finds the next invocation behind a thousand unanswered ones', async (t) => {
  const runtime = await startRuntime(t)
  const ref = await createRef(runtime, { timeout: 120_000 })
  const calls = Array.from({ length: 1_010 }, (_, n) => runtime.manager.invoke(ref, { n }))
  const ended = Promise.allSettled(calls)
  const taken = new Set<string>()
  for (const _ of calls) taken.add((await nextCall(runtime, ref)).id)
  assert.equal(taken.size, calls.length)
  await runtime.manager.invoke('callback-release', { ref })
  assert.ok((await ended).every(({ status }) => status === 'rejected'))
})
