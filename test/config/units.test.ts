import assert from 'node:assert/strict'
import { test } from 'node:test'
import { moment } from '../../src/core/arguments.ts'
import { plannedTimes } from '../../src/core/planned-times.ts'
import {
  DAY,
  formatDuration,
  HOUR,
  parseDuration,
  parseRate,
  parseSize,
  parseTime,
} from '../../src/core/units.ts'
import { nearest } from '../../src/lib/nearest.ts'
import fc from '../fixtures/fast-check.ts'

const units = [
  [
    'a duration',
    parseDuration,
    {
      '500ms': 500,
      '1.5s': 1500,
      '1h30m': 5_400_000,
      '1h 30m': 5_400_000,
      '7D': 604_800_000,
      '2w': 1_209_600_000,
    },
    ['', 's', '-1s', '1y', '3 fortnights', '1s!', '1e3', '100w100w100w100w100w100w', '-1', 'NaN'],
  ],
  [
    'a size',
    parseSize,
    { '1mb': 1_048_576, '1.5 MB': 1_572_864, '64kb': 65_536, '10b': 10, '1gb': 1_073_741_824, 512: 512 },
    ['', 'mb', '-1mb', '1tb', '1 m', '9999999gb', '-1'],
  ],
  [
    'a rate',
    parseRate,
    {
      '100/s': { count: 100, per: 1000 },
      '20/min': { count: 20, per: 60_000 },
      '20 / minute': { count: 20, per: 60_000 },
      '5/30s': { count: 5, per: 30_000 },
      '1000/h': { count: 1000, per: 3_600_000 },
      OFF: 'off',
    },
    ['0/s', '5', '5/', '5/0s', 'x/s', '1/fortnight'],
  ],
] as const

for (const [what, parse, valid, invalid] of units) {
  test(`parses ${what}`, () => {
    for (const [text, value] of Object.entries(valid)) assert.deepEqual(parse(text), value, text)
    for (const text of invalid) assert.equal(parse(text), undefined, text)
  })
}

test('a formatted duration parses to the same duration', () => {
  for (const ms of [0, 1, 999, 1000, 1500, 60_000, 90_000, HOUR, DAY]) {
    assert.equal(parseDuration(formatDuration(ms)), ms)
  }
  assert.equal(formatDuration(60_000), '1m')
})

test('no text makes a parser throw or return a negative value', () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9.smhdwkbg/ -]{0,30}$/))
  fc.assert(
    fc.property(text, (given) => {
      for (const value of [parseDuration(given), parseSize(given)])
        assert.ok(value === undefined || value >= 0)
      parseRate(given)
    }),
  )
})

test('a time can be today or yesterday, in UTC', () => {
  const today = parseTime('today') ?? 0
  assert.equal(today % DAY, 0)
  assert.ok(Date.now() - today < DAY)
  assert.equal(parseTime('Yesterday'), today - DAY)
  assert.equal(parseTime('constructor'), undefined)
})

test('a time can be written as in the search of the console, in UTC, but not as a range of hours', () => {
  const yesterday = parseTime('yesterday') ?? 0
  assert.equal(parseTime('yesterday 10:00'), yesterday + 10 * HOUR)
  assert.equal(parseTime('2026-11-27 8'), Date.UTC(2026, 10, 27, 8))
  assert.equal(parseTime('2026-11-27 08:30'), Date.UTC(2026, 10, 27, 8, 30))
  const monday = new Date(parseTime('monday 9:30') ?? 0)
  assert.deepEqual([monday.getUTCDay(), monday.getUTCHours(), monday.getUTCMinutes()], [1, 9, 30])
  assert.equal(parseTime('all'), 0)
  for (const text of ['yesterday 10-11', 'nonsense 10', 'monday 9:75', 'Nov 21', '2026-13-01 9'])
    assert.equal(parseTime(text), undefined, text)
})

test('a time with a zone is the time of that zone, also where its offset reads as an hour', () => {
  const times: Record<string, string> = {
    '2026-11-27T01:00-05:00': '2026-11-27T06:00:00.000Z',
    '2026-11-27T01:00:00-0500': '2026-11-27T06:00:00.000Z',
    '2026-11-27t10:00:00.5z': '2026-11-27T10:00:00.500Z',
    '2026-11-27 10:00 +02:00': '2026-11-27T08:00:00.000Z',
    '2026-11-27 10:00Z': '2026-11-27T10:00:00.000Z',
    '2026-11-27T10:00:00.5': '2026-11-27T10:00:00.500Z',
    '2026-11': '2026-11-01T00:00:00.000Z',
  }
  for (const [text, time] of Object.entries(times))
    assert.equal(new Date(parseTime(text) ?? 0).toISOString(), time, text)
  for (const text of ['2026-11-27 01:00-05:00', '2026-11-27 10:00-05:00', '2026-11-27 10:00 soon'])
    assert.equal(parseTime(text), undefined, text)
})

test('a day that does not exist is no time', () => {
  for (const text of ['2026-02-31', '2026-02-31T10:00:00Z', '2026-04-31 9:30', '2026-02-29', '2026-2-31'])
    assert.equal(parseTime(text), undefined, text)
  assert.equal(parseTime('2028-02-29'), Date.UTC(2028, 1, 29))
  assert.ok(!moment.safeParse('2026-02-31T10:00:00Z').success)
  assert.equal(moment.parse('2028-02-29T10:00:00Z'), Date.UTC(2028, 1, 29, 10))
  const schedule = { cron: '2027-02-31T10:00:00', timezone: 'UTC', created: '2026-11-27T10:00:00Z' }
  assert.throws(() => plannedTimes(schedule), /no such day/)
})

test('suggests the nearest word', () => {
  assert.equal(nearest('stauts', ['start', 'status', 'state']), 'status')
})
