import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRunCosts } from '../../src/features/usage/run-costs.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { callFrom, silent, temporaryDir, toEvent } from './kit.ts'

async function make(t: TestContext) {
  const store = await createEmbeddedStore({ dir: temporaryDir(t), log: silent, toEvent, now: Date.now })
  t.after(() => store.close())
  return store
}

test('a run that is resumed by another daemon costs all of its parts, and a retry only its own', async (t) => {
  const { kv } = await make(t)
  const step = (money: number) => ({ inputTokens: 10, outputTokens: 0, money })
  const message = Object({ id: 'm' })
  const attempt = () => ({ ...callFrom(), message, rootId: 'm', skill: 'helper' })
  const parts: ('interrupted' | 'ended')[] = ['interrupted', 'interrupted', 'ended', 'ended']
  const costs: unknown[] = []
  for (const [at, end] of parts.entries()) {
    const daemon = createRunCosts({ kv, log: silent })
    const call = attempt()
    daemon.begin(call)
    await daemon.spent(call, step(2 ** at))
    costs.push(daemon[end](call)?.money)
    await daemon.settled()
  }
  assert.deepEqual(costs, [undefined, undefined, 7, 8])
})

test('the cost of a run that waits is kept without ids or names', async (t) => {
  const { kv } = await make(t)
  const daemon = createRunCosts({ kv, log: silent })
  const call = {
    ...callFrom(),
    message: Object({ id: 'message-4711' }),
    rootId: 'message-4711',
    skill: 'helper',
  }
  daemon.begin(call)
  await daemon.spent(call, { inputTokens: 1, outputTokens: 1 })
  daemon.interrupted(call)
  await daemon.settled()
  const { items } = Object(await kv.list('usage-carried:', 10))
  assert.match(JSON.stringify(items), /usage-carried:[0-9a-f]{32}/)
  assert.doesNotMatch(JSON.stringify(items), /4711|helper/)
})
