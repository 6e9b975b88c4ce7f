import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileHours } from '../../src/core/hours.ts'
import fc from '../fixtures/fast-check.ts'

const contains = (hours: string, time: string) => compileHours(hours).fits(Date.parse(time))

describe('hours', () => {
  // 2026-11-27 is a Friday.
  const cases: [hours: string, inside: string[], outside: string[]][] = [
    [
      'Mon-Fri 09:00-17:00',
      ['2026-11-27T09:00Z', '2026-11-27T16:59:59.999Z'],
      ['2026-11-27T17:00Z', '2026-11-27T08:59:59.999Z', '2026-11-28T12:00Z'],
    ],
    // In winter Berlin is an hour ahead of UTC, in summer two.
    [
      'Mon-Fri 09:00-17:00 Europe/Berlin',
      ['2026-11-27T08:00Z', '2026-07-17T07:00Z'],
      ['2026-11-27T16:00Z', '2026-07-17T15:00Z', '2026-11-27T07:59Z'],
    ],
    ['09:00-17:00', ['2026-11-29T09:00Z'], ['2026-11-29T17:00Z']],
    ['Sat-Sun', ['2026-11-28T00:00Z', '2026-11-29T23:59Z'], ['2026-11-27T23:59Z', '2026-11-30T00:00Z']],
    // A week that begins on Sunday.
    ['Sun-Thu 08:00-16:00 Asia/Jerusalem', ['2026-11-29T06:00Z'], ['2026-11-27T08:00Z', '2026-11-28T08:00Z']],
    // As OpenStreetMap writes opening hours: a break, and other days after a semicolon.
    [
      'Mo-We,Fr 09:00-13:30,14:00-18:30; Sa 10:00-14:00',
      ['2026-11-27T13:29Z', '2026-11-27T14:00Z', '2026-11-28T13:59Z'],
      ['2026-11-26T10:00Z', '2026-11-27T13:30Z', '2026-11-28T14:00Z', '2026-11-28T15:00Z'],
    ],
    ['Monday, wednesday 10:00 - 11:00', ['2026-11-30T10:30Z', '2026-12-02T10:30Z'], ['2026-12-01T10:30Z']],
    ['Mon–Fri 9:00–17:00', ['2026-11-27T12:00Z'], ['2026-11-28T12:00Z']],
    // A range over midnight belongs to the day on which it begins.
    [
      'Fri 22:00-06:00',
      ['2026-11-27T22:00Z', '2026-11-28T05:59Z'],
      ['2026-11-27T05:00Z', '2026-11-28T06:00Z', '2026-11-28T22:00Z'],
    ],
    [
      'Sun 22:00-06:00',
      ['2026-11-29T23:00Z', '2026-11-30T05:59Z'],
      ['2026-11-29T05:00Z', '2026-11-30T06:00Z'],
    ],
    ['Mon-Sun 11:36-00:00', ['2026-11-27T23:59Z'], ['2026-11-27T00:00Z', '2026-11-27T11:35Z']],
    ['00:00-24:00', ['2026-11-27T00:00Z', '2026-11-27T23:59Z'], []],
    ['Mon-Fri 09:00-17:00 Asia/Kolkata', ['2026-11-27T03:30Z'], ['2026-11-27T03:29Z', '2026-11-27T11:30Z']],
  ]
  for (const [hours, inside, outside] of cases) {
    test(`of ${hours}`, () => {
      for (const time of inside) assert.ok(contains(hours, time), `${time} is inside`)
      for (const time of outside) assert.ok(!contains(hours, time), `${time} is outside`)
    })
  }

  test('follow local time when the clock goes forward or back', () => {
    // On 2026-03-29 Berlin goes from 02:00 to 03:00, at 01:00Z; on 2026-10-25 from 03:00 to 02:00,
    // at 01:00Z.
    const skipped = 'Sun 02:00-03:00 Europe/Berlin'
    for (const time of ['2026-03-29T00:59Z', '2026-03-29T01:00Z']) assert.ok(!contains(skipped, time), time)
    for (const time of ['2026-10-25T00:00Z', '2026-10-25T00:59Z', '2026-10-25T01:00Z', '2026-10-25T01:59Z'])
      assert.ok(contains(skipped, time), time)
    assert.ok(!contains(skipped, '2026-10-25T02:00Z'))
    const night = 'Sat 22:00-06:00 Europe/Berlin'
    assert.ok(contains(night, '2026-03-29T03:59Z'), 'the short night ends at 06:00')
    assert.ok(!contains(night, '2026-03-29T04:00Z'))
    assert.ok(contains(night, '2026-10-25T04:59Z'), 'the long night ends at 06:00')
    assert.ok(!contains(night, '2026-10-25T05:00Z'))
  })

  test('show a time in their time zone', () => {
    const time = Date.parse('2026-11-27T23:05Z')
    assert.equal(compileHours('Mon-Fri').clock(time), 'Fri 23:05 UTC')
    assert.equal(compileHours('Mon-Fri Europe/Berlin').clock(time), 'Sat 00:05 Europe/Berlin')
  })

  test('contain a minute if and only if the complementary hours do not', () => {
    const [day, night] = [
      compileHours('07:30-19:45 America/New_York'),
      compileHours('19:45-07:30 America/New_York'),
    ]
    const minute = fc.integer({ min: 0, max: 4_102_444_800_000 })
    fc.assert(fc.property(minute, (time) => day.fits(time) !== night.fits(time)))
  })

  test('do not contain invalid times, and do not throw', () => {
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 9e15])
      assert.ok(!compileHours('00:00-24:00').fits(time))
  })

  const mistakes: [string, RegExp][] = [
    ['', /it has no days or times/],
    ['Mon-Fri 9-17', /"9-17" is not a time range such as 09:00-17:00/],
    ['Mon-Fri 9am-5pm', /"9am-5pm" is not a time range/],
    ['Mon-Fri 09:00-25:00', /"09:00-25:00" is not a time range within 00:00-24:00/],
    ['Mon-Fri 09:60-17:00', /is not a time range within 00:00-24:00/],
    // kube-downscaler accepts this without any effect.
    ['Sat-Sun 03:00-03:00 UTC', /begins and ends at the same time; write 00:00-24:00 for the whole day/],
    ['Mon-Fryday 09:00-17:00', /"Fryday" is neither a day, .*; did you mean "Friday"\?/],
    ['Mon-Fri 09:00-17:00 Europe/Berln', /no time zone "Europe\/Berln"; did you mean "Europe\/Berlin"\?/],
    ['Mon-Fri 09:00-17:00 Berlin', /"Berlin" is neither a day/],
    ['Europe/Berlin Mon-Fri 09:00-17:00', /the time zone "Europe\/Berlin" must come last/],
    ['Sat-Sun CET, Fri 20:00-24:00 CET', /"Fri" comes after the time zone.*use a list/],
    ['Mon-Fri 09:00-17:00; PH off', /"PH" is neither a day/],
    ['UTC', /the time zone "UTC" must come last/],
  ]
  for (const [hours, reason] of mistakes) {
    test(`refuse ${JSON.stringify(hours)}`, () => assert.throws(() => compileHours(hours), reason))
  }
})
