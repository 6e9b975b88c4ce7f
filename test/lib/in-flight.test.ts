import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInFlight } from '../../src/lib/in-flight.ts'

test('each who stops hears of the end: a reload may stop a gateway in the middle of a drain', async () => {
  const inFlight = createInFlight()
  inFlight.enter()
  assert.equal(inFlight.isStopping(), false)
  const heard: string[] = []
  const stops = ['drain', 'reload'].map((who) => inFlight.stop().then(() => heard.push(who)))
  assert.equal(inFlight.isStopping(), true)
  await new Promise(setImmediate)
  assert.deepEqual(heard, [])
  inFlight.leave()
  await new Promise(setImmediate)
  assert.deepEqual(heard, ['drain', 'reload'])
  await Promise.all(stops)
})
