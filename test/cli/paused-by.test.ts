import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pausedBy } from '../../src/cli/paused-by.ts'

test('a paused conversation holds only messages of its own gateway', async () => {
  const daemon = {
    invoke: async () => [{ kind: 'conversation', gateway: 'chat', name: 'order 7' }],
    explain: async () => [],
    status: async () => null,
  }
  const reasonAt = (gateway: string) => pausedBy(daemon, { id: '1', gateway, conversation: 'order 7' })
  assert.match(String(await reasonAt('chat')), /^The conversation order 7 is paused, so the message waits\./)
  assert.equal(await reasonAt('cli'), undefined)
})
