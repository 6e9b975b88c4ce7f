import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeId } from '../../src/core/message-id.ts'
import { gapText, missedIn } from '../../src/lib/gap-text.ts'

test('the id of a gap has the number of missed events, and other ids have none', () => {
  for (const missed of [1, 2, 70_000, 2 ** 33]) assert.equal(missedIn(makeId(Date.now(), 0, missed)), missed)
  for (const position of [1, 2, 16_383, 2 ** 14, 2 ** 39])
    assert.equal(missedIn(makeId(Date.now(), position, 7)), 0)
  assert.equal(missedIn('e1'), 0)
})

test('a gap says what it is', () => {
  assert.equal(gapText(makeId(Date.now(), 0, 1)), 'gap: 1 event was erased or expired')
  assert.equal(gapText(makeId(Date.now(), 0, 3)), 'gap: 3 events were erased or expired')
  assert.equal(gapText(makeId(Date.now(), 5)), undefined)
})
