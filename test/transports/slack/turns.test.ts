import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from '../../../transports/slack/inbound/inbound.ts'

test('a message that waits for the earlier ones of its conversation does not keep them in memory', async () => {
  const takeTurn = createTurns()
  const [first, second, third] = [1, 2, 3].map((text) => takeTurn('c', Promise.resolve({ text }), 10_000))
  assert.equal(first?.turn, undefined)
  assert.equal(await second?.turn, undefined)
  assert.equal(await third?.turn, undefined)
})
