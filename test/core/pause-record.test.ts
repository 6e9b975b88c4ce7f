import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withStartOf } from '../../src/core/pause-record.ts'

test('a pause keeps the start of one that its author changes, but not of one that was over', () => {
  const before = { since: 1_000, by: 'ada', until: 2_000 }
  assert.equal(withStartOf(before, { since: 1_500, by: 'ada' }).since, 1_000)
  assert.equal(withStartOf(before, { since: 5_000, by: 'ada' }).since, 5_000)
  assert.equal(withStartOf(before, { since: 1_500, by: 'bob' }).since, 1_500)
})
