import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCalls } from '../../src/runtime/mcp/calls.ts'
import { startCall } from '../../src/runtime/mcp/running-call.ts'

test('a task is kept until half an hour after the last request for it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const calls = createCalls()
  const caller = { kind: 'mcp' as const }
  const call = startCall(caller, () => new Promise(() => {}))
  calls.keep(call)
  for (let minutes = 0; minutes < 60; minutes += 20) {
    t.mock.timers.tick(20 * 60_000)
    const { status, ttlMs } = calls.of(call.id, caller).detail()
    assert.deepEqual({ status, ttlMs }, { status: 'working', ttlMs: (minutes + 50) * 60_000 })
  }
  t.mock.timers.tick(31 * 60_000)
  assert.throws(() => calls.of(call.id, caller), /no such call/)
  assert.equal(call.isFinished(), true)
})
