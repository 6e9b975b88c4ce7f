import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createPace } from '../../ops/tests/pace.ts'
import { until } from '../fixtures/until.ts'

/** A pace whose machine has room as long as `room.isFree`, and the names of those that have begun. */
function startPace(fewest: number, most: number) {
  const room = { isFree: false, looks: 0 }
  const hasRoom = () => {
    room.looks++
    return room.isFree
  }
  const pace = createPace(fewest, most, { sampleMs: 1, hasRoom })
  const begun: string[] = []
  const ask = (name: string) => void pace.begin().then(() => begun.push(name))
  return { pace, room, begun, ask }
}

test('test files wait for the end of others while the machine is busy', async () => {
  const { pace, room, begun, ask } = startPace(2, 4)
  for (const name of ['a', 'b', 'c']) ask(name)
  await until(() => room.looks > 5, 'some looks at the machine')
  assert.deepEqual(begun, ['a', 'b'])
  pace.end()
  await until(() => begun.length === 3, 'the third')
  pace.finish()
})

test('test files begin next to others that only wait, one for each look at the machine', async () => {
  const { pace, room, begun, ask } = startPace(1, 3)
  for (const name of ['a', 'b', 'c']) ask(name)
  room.isFree = true
  await until(() => begun.length === 3, 'all')
  assert.deepEqual(begun, ['a', 'c', 'b'])
  pace.end()
  room.isFree = false
  ask('d')
  await until(() => room.looks > 8, 'more looks')
  assert.equal(begun.length, 3, 'two still run')
  pace.finish()
})

test('nobody waits once there are no more test files', async () => {
  const { pace, begun, ask } = startPace(1, 2)
  for (const name of ['a', 'b']) ask(name)
  pace.finish()
  ask('c')
  await setImmediate()
  assert.deepEqual(begun, ['a', 'b', 'c'])
})
