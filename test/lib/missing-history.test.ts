import assert from 'node:assert/strict'
import { test } from 'node:test'
import { missingHistory } from '../../src/lib/missing-history.ts'

const HOUR = 3_600_000
const NOW = 100 * HOUR
const ago = (hours: number) => NOW - hours * HOUR

test('a backlog that is older than its measurements says why they begin so late', () => {
  assert.match(String(missingHistory({ first: ago(0.2), oldest: ago(8) }, NOW)), /in memory, and began then/)
  assert.match(String(missingHistory({ first: ago(24), oldest: ago(40) }, NOW)), /kept for a day/)
  const ofDay = { first: ago(0.2), oldest: ago(8), chosen: 24 * HOUR }
  assert.match(String(missingHistory(ofDay, NOW)), /began then/)
})

test('measurements that begin with the backlog, or with the chosen time, need no reason', () => {
  assert.equal(missingHistory({ first: ago(8), oldest: ago(8) }, NOW), undefined)
  assert.equal(missingHistory({ first: ago(8) }, NOW), undefined)
  assert.equal(missingHistory({ first: ago(1), oldest: ago(8), chosen: HOUR }, NOW), undefined)
  assert.equal(missingHistory({ first: ago(1), oldest: ago(8), chosen: Number.NaN }, NOW), undefined)
})
