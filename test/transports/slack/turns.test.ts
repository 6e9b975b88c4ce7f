import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createTurns } from '../../../transports/slack/inbound/inbound.ts'

test('a message that waits for the earlier ones of its conversation does not keep them in memory', async () => {
  const takeTurn = createTurns()
  const [first, second, third] = [1, 2, 3].map((text) => takeTurn('c', Promise.resolve({ text }), 10_000))
  assert.equal(first?.turn, undefined)
  assert.equal(await second?.turn, undefined)
  assert.equal(await third?.turn, undefined)
})

test('a message after a click waits for the earlier messages of its conversation, too', async () => {
  const takeTurn = createTurns()
  const { promise: preparing, resolve: endPreparing } = Promise.withResolvers<void>()
  const first = takeTurn('c', preparing, 10_000)
  const click = takeTurn('c', Promise.resolve(), 0)
  assert.equal(click.turn, undefined)
  click.leave()
  await setImmediate()
  const order: string[] = []
  const second = takeTurn('c', Promise.resolve(), 10_000)
  const waiting = Promise.resolve(second.turn).then(() => order.push('second'))
  await setImmediate()
  order.push('first')
  endPreparing()
  await waiting
  assert.deepEqual(order, ['first', 'second'])
  for (const { leave } of [first, second]) leave()
  await setImmediate()
  assert.equal(takeTurn('c', Promise.resolve(), 10_000).turn, undefined)
})
