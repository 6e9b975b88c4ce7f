import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTime, timeRangeIn } from '../../src/lib/time-range.ts'

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
  assert.deepEqual(startAndEnd('yesterday evening'), ['2026-03-25T18:00', '2026-03-26T00:00'])
  assert.deepEqual(startAndEnd('today afternoon'), ['2026-03-26T12:00', '2026-03-26T18:00'])
  assert.deepEqual(startAndEnd('2026-03-01 morning'), ['2026-03-01T06:00', '2026-03-01T12:00'])
  assert.deepEqual(startAndEnd('10-11'), ['2026-03-26T10:00', '2026-03-26T11:00'])
  assert.deepEqual(timeRangeIn('all'), {})
})

test('a time of a weekday is the last one: later today is a week ago', () => {
  assert.deepEqual(startAndEnd('thursday 15'), ['2026-03-26T15:00', '-'])
  assert.deepEqual(startAndEnd('thursday 16'), ['2026-03-19T16:00', '-'])
  assert.deepEqual(startAndEnd('thu 15:45-17'), ['2026-03-19T15:45', '2026-03-19T17:00'])
  assert.deepEqual(startAndEnd('today 16'), ['2026-03-26T16:00', '-'])
})

test('a time of day is the last one: one that is still to come was yesterday, with both ends', () => {
  assert.deepEqual(startAndEnd('15:00'), ['2026-03-26T15:00', '-'])
  assert.deepEqual(startAndEnd('16:00'), ['2026-03-25T16:00', '-'])
  assert.deepEqual(startAndEnd('15-17'), ['2026-03-26T15:00', '2026-03-26T17:00'])
  assert.deepEqual(startAndEnd('16-17:30'), ['2026-03-25T16:00', '2026-03-25T17:30'])
  assert.equal(nextTime('15:00', NOW, 'utc'), Date.UTC(2026, 2, 27, 15))
  assert.equal(nextTime('16:00', NOW, 'utc'), Date.UTC(2026, 2, 26, 16))
  assert.equal(nextTime('mon 9:30', NOW, 'utc'), Date.UTC(2026, 2, 30, 9, 30))
  assert.equal(nextTime('yesterday 10', NOW, 'utc'), undefined)
})

/** The start of a range in the zone of the process, and the next such time, as ISO times. */
const inZone = (zone: string, text: string, now: string) => {
  const before = process.env.TZ
  process.env.TZ = zone
  try {
    const { since = 0 } = timeRangeIn(text, { now: Date.parse(now) }) ?? {}
    const next = nextTime(text, Date.parse(now)) ?? 0
    return [since, next].map((time) => new Date(time).toISOString().slice(0, 16))
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
}

test('a time of day is that of the clock in its zone, also on days with 23 or 25 hours', () => {
  // 01:52 in the winter: 14:00 was 12 hours ago.
  assert.deepEqual(inZone('Europe/Oslo', '14:00', '2026-11-30T00:52Z'), [
    '2026-11-29T13:00',
    '2026-11-30T13:00',
  ])
  assert.deepEqual(inZone('Asia/Kolkata', '14:00', '2026-11-30T00:52Z'), [
    '2026-11-29T08:30',
    '2026-11-30T08:30',
  ])
  // At 10:00 on the day that begins summer time (29 March) and on the day that ends it (25 October).
  assert.deepEqual(inZone('Europe/Oslo', '14:00', '2026-03-29T08:00Z'), [
    '2026-03-28T13:00',
    '2026-03-29T12:00',
  ])
  assert.deepEqual(inZone('Europe/Oslo', '14:00', '2026-10-25T09:00Z'), [
    '2026-10-24T12:00',
    '2026-10-25T13:00',
  ])
  assert.deepEqual(inZone('America/New_York', 'sun 14:00', '2026-11-01T15:00Z'), [
    '2026-10-25T18:00',
    '2026-11-01T19:00',
  ])
  // 02:30 does not exist on 29 March, and exists twice on 25 October.
  assert.deepEqual(inZone('Europe/Oslo', '2:30', '2026-03-29T02:00Z')[0], '2026-03-29T01:30')
  assert.deepEqual(inZone('Europe/Oslo', '2:30', '2026-10-25T01:10Z')[0], '2026-10-25T00:30')
})

test('words that are not understood completely are no range', () => {
  for (const text of [
    '',
    ', ',
    'soon',
    'yesterdy',
    'mo 9',
    'yesterday 25',
    'yesterday eve',
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
