import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { closed, time } from '../../src/core/arguments.ts'
import { pastRange, withRanges } from '../../src/core/past-range.ts'

/** A Monday. */
const NIGHT = Date.UTC(2026, 10, 30, 1, 52)
const AFTERNOON = Date.UTC(2026, 10, 30, 16, 0)

/** The range in words at a time, as `from – to`; or the end that is wrong, and why. */
function rangeAt(now: number, since: string | undefined, until?: string): string {
  const range = pastRange({ since, until }, now)
  if (range.fault) return `${range.fault.end} ${range.fault.why}`
  return [range.since, range.until]
    .map((at) => (at === undefined ? '' : new Date(at).toISOString().slice(5, 16)))
    .join(' – ')
}

describe('a range in the past', () => {
  test('of times of day is the last one that has begun, with both ends', () => {
    assert.equal(rangeAt(NIGHT, '14:00', '15:00'), '11-29T14:00 – 11-29T15:00')
    assert.equal(rangeAt(AFTERNOON, '14:00', '15:00'), '11-30T14:00 – 11-30T15:00')
    assert.equal(rangeAt(AFTERNOON, '15:30', '16:30'), '11-30T15:30 – 11-30T16:30')
    assert.equal(rangeAt(NIGHT, '23:00', '1:00'), '11-29T23:00 – 11-30T01:00')
    assert.equal(rangeAt(NIGHT, '23:00', '24:00'), '11-29T23:00 – 11-30T00:00')
    assert.equal(rangeAt(NIGHT, '23:00'), '11-29T23:00 – ')
    assert.equal(rangeAt(NIGHT, undefined, '14:00'), ' – 11-29T14:00')
    assert.equal(rangeAt(NIGHT, '14-15'), '11-29T14:00 – 11-29T15:00')
  })

  test('of weekdays is the last one that has begun', () => {
    assert.equal(rangeAt(NIGHT, 'monday 9:30', 'monday 10'), '11-23T09:30 – 11-23T10:00')
    assert.equal(rangeAt(AFTERNOON, 'monday 9:30', 'monday 10'), '11-30T09:30 – 11-30T10:00')
    assert.equal(rangeAt(NIGHT, 'friday 18', 'monday 8'), '11-27T18:00 – 11-30T08:00')
    assert.equal(rangeAt(NIGHT, 'tuesday', 'friday'), '11-24T00:00 – 11-27T00:00')
  })

  test('ends at a time of the day of its start, or else at the last such time', () => {
    assert.equal(rangeAt(NIGHT, 'yesterday 10:00', '11:00'), '11-29T10:00 – 11-29T11:00')
    assert.equal(rangeAt(NIGHT, '2026-11-27 8', '9:30'), '11-27T08:00 – 11-27T09:30')
    assert.equal(rangeAt(NIGHT, '7d', '14:00'), '11-23T01:52 – 11-29T14:00')
    assert.equal(rangeAt(NIGHT, 'yesterday 10-12', 'yesterday 11:00'), '11-29T10:00 – 11-29T11:00')
  })

  test('cannot end before it begins, nor begin in the future', () => {
    for (const [since, until] of [
      ['1h', '2h'],
      ['today', 'yesterday'],
      ['2026-11-28T10:00Z', '2026-11-28T09:00Z'],
      ['15:00', '14:00'],
      ['monday 10', 'monday 9'],
    ] as const)
      assert.match(rangeAt(AFTERNOON, since, until), /^until .* ends before it begins/, since)
    assert.match(rangeAt(NIGHT, 'today 14:00'), /^since "today 14:00" is in the future/)
    assert.match(rangeAt(NIGHT, '2026-12-24'), /^since .*future/)
    assert.equal(rangeAt(NIGHT, '2026-11-30T01:52:20Z'), '11-30T01:52 – ')
    assert.equal(rangeAt(NIGHT, '1h', '2026-12-24'), '11-30T00:52 – 12-24T00:00')
  })

  test('is read as a whole in the arguments of an operation, and only there', () => {
    const schema = closed({ since: time, until: time })
    const given = { since: 'yesterday 10:00', until: '11:00' }
    const { since, until } = schema.parse(withRanges(schema, given))
    assert.equal(until - since, 3_600_000)
    const reversed = { since: '1h', until: '2h' }
    assert.equal(withRanges(schema, reversed), reversed)
    assert.equal(withRanges(closed({}), given), given)
  })
})
