import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInGroup, openGroups, waitOf, wordOf } from '../../src/lib/open-groups.ts'

const held = { kind: 'conversation', state: 'taken over', at: 100, waitingSince: 100 }
const heldOnly = { kind: 'conversation', state: 'taken over', at: 300 }

test('somebody whose conversation is taken over waits all the same, and the age is said to be that of the wait', () => {
  assert.deepEqual([waitOf(held), waitOf(heldOnly)], [100, undefined])
  assert.deepEqual([isInGroup(held, 'answer'), isInGroup(held, 'held')], [true, true])
  assert.equal(isInGroup(heldOnly, 'answer'), false)
  assert.deepEqual([wordOf(held), wordOf(heldOnly)], ['waits, taken over', 'taken over'])
  const [group] = openGroups([heldOnly, held])
  assert.deepEqual([group?.said, group?.since, group?.isWait], ['2 taken over', 100, true])
  assert.equal(openGroups([heldOnly])[0]?.isWait, undefined)
})

test('an answer that was not delivered and an approval are waits, and a failed push is none', () => {
  const undelivered = { kind: 'conversation', state: 'not delivered', failed: true, at: 50, waitingSince: 20 }
  assert.deepEqual([waitOf(undelivered), isInGroup(undelivered, 'answer')], [20, true])
  assert.equal(isInGroup(undelivered, 'failed'), true)
  assert.equal(waitOf({ kind: 'approval', state: 'approval', at: 7 }), 7)
  assert.equal(waitOf({ kind: 'letter', state: 'push failed', failed: true, at: 7 }), undefined)
})
