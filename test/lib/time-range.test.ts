import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeRangeIn } from '../../src/lib/time-range.ts'

/** A Thursday. */
const NOW = Date.UTC(2026, 2, 26, 15, 30)

/** The start and the end of a range in words, in UTC; `-` for an end that is open. */
const startAndEnd = (text: string) => {
  const { since, until } = timeRangeIn(text, { now: NOW, zone: 'utc' }) ?? {}
  return [since, until].map((time) => (time === undefined ? '-' : new Date(time).toISOString().slice(0, 16)))
}

test('a range of time is an age, a day, hours of a day, or all time', () => {
  assert.deepEqual(startAndEnd('last 15 min'), ['2026-03-26T15:15', '-'])
  assert.deepEqual(startAndEnd('2h'), ['2026-03-26T13:30', '-'])
  assert.deepEqual(startAndEnd('Yesterday'), ['2026-03-25T00:00', '2026-03-26T00:00'])
  assert.deepEqual(startAndEnd('yesterday 10-11'), ['2026-03-25T10:00', '2026-03-25T11:00'])
  assert.deepEqual(startAndEnd('mon 9:30 to 10'), ['2026-03-23T09:30', '2026-03-23T10:00'])
  assert.deepEqual(startAndEnd('thursday'), ['2026-03-26T00:00', '2026-03-27T00:00'])
  assert.deepEqual(startAndEnd('2026-03-01 8:00-9:30'), ['2026-03-01T08:00', '2026-03-01T09:30'])
  assert.deepEqual(startAndEnd('2026-03-01T22'), ['2026-03-01T22:00', '-'])
  assert.deepEqual(startAndEnd('2026-03-01 20-24'), ['2026-03-01T20:00', '2026-03-02T00:00'])
  assert.deepEqual(startAndEnd('10-11'), ['2026-03-26T10:00', '2026-03-26T11:00'])
  assert.deepEqual(timeRangeIn('all'), {})
})

test('a time of a weekday is the last one: later today is a week ago', () => {
  assert.deepEqual(startAndEnd('thursday 15'), ['2026-03-26T15:00', '-'])
  assert.deepEqual(startAndEnd('thursday 16'), ['2026-03-19T16:00', '-'])
  assert.deepEqual(startAndEnd('thu 15:45-17'), ['2026-03-19T15:45', '2026-03-19T17:00'])
  assert.deepEqual(startAndEnd('today 16'), ['2026-03-26T16:00', '-'])
})

test('words that are not understood completely are no range', () => {
  for (const text of [
    '',
    ', ',
    'soon',
    'yesterdy',
    'mo 9',
    'yesterday 25',
    'yesterday 11-10',
    '10-11-12',
    '2026-13-01',
    '2026-02-31',
    '2026-03-01 24:30',
  ])
    assert.equal(timeRangeIn(text), undefined, text)
})

test('days are those of this computer unless they are in UTC', () => {
  const { since = 0, until = 0 } = timeRangeIn('today', { now: NOW }) ?? {}
  const day = new Date(since)
  assert.deepEqual([day.getHours(), day.getMinutes()], [0, 0])
  assert.ok(since <= NOW && NOW < until)
})
