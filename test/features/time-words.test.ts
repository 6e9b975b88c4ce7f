import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { requireOwnFormat } from '../../src/core/cron-format.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { plannedTimes } from '../../src/core/planned-times.ts'
import { DAY } from '../../src/core/units.ts'
import { readWhen } from '../../src/features/assistant/time-words.ts'

const NOW = Date.parse('2026-11-25T10:00:00Z')
const BERLIN = 'Europe/Berlin'

/** The task and its next times, `task => time, time`; or `refused`. */
async function planned(text: string, { now = NOW, timezone = BERLIN, count = 3 } = {}): Promise<string> {
  const found = await readWhen(text, { timezone, now }).catch((error: unknown) => {
    assert.ok(error instanceof TriviumError && error.code === 'usage', String(error))
    return undefined
  })
  if (!found) return 'refused'
  const { next } = plannedTimes({ ...found, created: new Date(now).toISOString() })
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: found.timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  })
  const times: string[] = []
  for (let at = next(now); at !== undefined && times.length < count; at = next(at))
    times.push(format.format(at))
  return times.length === 0 ? 'refused' : `${found.what} => ${times.join(', ')}`
}

describe('times in words', () => {
  const lines = readFileSync(join(import.meta.dirname, 'time-phrases.txt'), 'utf8').split('\n')
  const cases = lines.filter((line) => line !== '' && !line.startsWith('#'))

  test('give the times of time-phrases.txt', async () => {
    assert.ok(cases.length > 150)
    for (const line of cases) {
      const [phrase = ''] = line.split(' => ')
      assert.equal(`${phrase} => ${await planned(phrase)}`, line)
    }
  })

  test('keep their time of day when the clocks change', async () => {
    const spring = { now: Date.parse('2027-03-26T12:00:00Z'), count: 4 }
    const autumn = { now: Date.parse('2027-10-29T12:00:00Z'), count: 4 }
    for (const [phrase, when, times] of [
      ['x every day at 9', spring, '2027-03-27 09:00, 2027-03-28 09:00, 2027-03-29 09:00, 2027-03-30 09:00'],
      [
        'x every other day at 8',
        spring,
        '2027-03-27 08:00, 2027-03-29 08:00, 2027-03-31 08:00, 2027-04-02 08:00',
      ],
      [
        'x every day at 2:30',
        autumn,
        '2027-10-30 02:30, 2027-10-31 02:30, 2027-11-01 02:30, 2027-11-02 02:30',
      ],
      [
        'x every other sunday',
        autumn,
        '2027-10-31 09:00, 2027-11-14 09:00, 2027-11-28 09:00, 2027-12-12 09:00',
      ],
      [
        'x every 2 months on the last friday at 17:00',
        autumn,
        '2027-10-29 17:00, 2027-12-31 17:00, 2028-02-25 17:00, 2028-04-28 17:00',
      ],
    ] as const) {
      assert.equal(await planned(phrase, when), `x => ${times}`, phrase)
    }
    // 2:30 is skipped in spring: it is due at the end of the gap.
    assert.match(await planned('x every day at 2:30', spring), /2027-03-28 03:\d0, 2027-03-29 02:30/)
    const newYork = { ...spring, now: Date.parse('2027-03-12T12:00:00Z'), timezone: 'America/New_York' }
    assert.equal(
      await planned('x every weekday at 8:30', newYork),
      'x => 2027-03-12 08:30, 2027-03-15 08:30, 2027-03-16 08:30, 2027-03-17 08:30',
    )
  })

  test('that have passed today mean tomorrow, or are refused if they name this day', async () => {
    const evening = { now: Date.parse('2026-11-27T20:48:10Z'), timezone: 'UTC' }
    const berlin = { ...evening, timezone: BERLIN }
    for (const [phrase, options, expected] of [
      ['an hour before noon to x', evening, 'x => 2026-11-28 11:00'],
      ['an hour before noon to x', berlin, 'x => 2026-11-28 11:00'],
      ['5 minutes after noon: x', berlin, 'x => 2026-11-28 12:05'],
      ['15 minutes before 5pm: x', evening, 'x => 2026-11-28 16:45'],
      ['half an hour before midnight: x', evening, 'x => 2026-11-27 23:30'],
      ['at 9am EST: x', evening, 'x => 2026-11-28 14:00'],
      ['at 9: x', evening, 'x => 2026-11-28 09:00'],
      ['this evening at 9: x', evening, 'x => 2026-11-27 21:00'],
      ['this evening at 8: x', evening, 'refused'],
      ['this evening at 9: x', berlin, 'refused'],
      ['x at 9 this morning', evening, 'refused'],
      ['this afternoon: x', evening, 'refused'],
      ['this friday at 9: x', evening, 'refused'],
      ['friday at 9: x', evening, 'x => 2026-12-04 09:00'],
      ['today at 9am EST: x', evening, 'refused'],
      ['2020-01-01T00:00:00Z: x', evening, 'refused'],
      ['9 minutes ago: x', evening, 'refused'],
      ['in 0 minutes: x', evening, 'refused'],
      ['x in zero hours', evening, 'refused'],
      ['5 minutes past noon x', evening, 'refused'],
      ['now: x', evening, 'x => 2026-11-27 20:48'],
    ] as const)
      assert.equal(await planned(phrase, options), expected, phrase)
  })

  test('with a numeric day and month are refused if they are ambiguous', async () => {
    const spring = { now: Date.parse('2027-01-10T12:00:00Z') }
    for (const phrase of ['on 5/6 at 9: x', 'x on 05/06/2027', 'on 5-6-2027: x'])
      await assert.rejects(readWhen(phrase, { ...spring, timezone: BERLIN }), /5 June.* or 6 May/)
    assert.equal(await planned('on 13/6 at 9: x', spring), 'x => 2027-06-13 09:00')
    assert.equal(await planned('on 6/13 at 9: x', spring), 'x => 2027-06-13 09:00')
    assert.equal(await planned('on 5/5 at 9: x', spring), 'x => 2027-05-05 09:00')
    assert.equal(await planned('tomorrow: eat 5/6 of it', spring), 'eat 5/6 of it => 2027-01-11 09:00')
  })

  test('are refused with the part that was not understood, and two examples', async () => {
    for (const [phrase, quoted] of [
      ['digest every now and then', /"every now and then"/],
      ['every monday except holidays digest', /"every monday except holidays"/],
      ['digest biweekly', /"biweekly".*twice a week or every two weeks/],
      ['call Ada before friday', /"before friday"/],
      ['on 31 February at 9: call Ada', /"on 31 February"/],
      ['at five: call Ada', /"at five"/],
      ['call Ada at half past three', /"at half past three"/],
      ['every day remind me to stretch at 3pm', /"every day … at 3pm".*colon/],
    ] as const) {
      const error: unknown = await readWhen(phrase, { timezone: BERLIN, now: NOW }).catch((thrown) => thrown)
      assert.ok(error instanceof TriviumError)
      assert.match(error.message, quoted)
      assert.match(error.message, /every weekday at 8:30 digest.*tomorrow at noon: call Ada/)
    }
  })
})

describe('a schedule with several crons or a step', () => {
  const created = '2026-11-25T10:00:00.000Z'
  const timezone = 'UTC'

  test('finds its times forwards and backwards', () => {
    const both = plannedTimes({ cron: '0 9 * * * | 30 17 * * *', timezone, created })
    const at = Date.parse('2026-11-26T08:00:00Z')
    assert.equal(both.next(at), Date.parse('2026-11-26T09:00:00Z'))
    assert.deepEqual(both.due(Date.parse(created), at), {
      newest: Date.parse('2026-11-25T17:30:00Z'),
      count: 1,
    })
    const weeks = plannedTimes({ cron: '0 9 * * 1', step: '2 weeks', timezone, created })
    assert.equal(weeks.next(Date.parse('2026-12-01T00:00:00Z')), Date.parse('2026-12-14T09:00:00Z'))
  })

  test('finds its newest time after a hundred years', () => {
    const weeks = plannedTimes({ cron: '0 9 * * 1', step: '2 weeks', timezone, created })
    const now = Date.parse('2126-11-25T10:00:00Z')
    const newest = weeks.due(Date.parse(created), now)?.newest ?? assert.fail('it is not due')
    assert.equal((newest - Date.parse('2026-11-30T09:00:00Z')) % (14 * DAY), 0)
    assert.ok(now - newest < 14 * DAY)
  })

  test('is refused if a step has no cron, or a cron is invalid', () => {
    assert.throws(() => plannedTimes({ every: 60_000, step: '2 weeks', timezone, created }), {
      code: 'usage',
    })
    assert.throws(() => plannedTimes({ cron: '0 9 * * * | x', timezone, created }), { code: 'usage' })
  })

  test('is refused in the format of Quartz or EventBridge if it would mean another day or hour', () => {
    for (const [cron, why] of [
      ['0 0 12 ? * 2', /day 1 is Sunday.*MON/],
      ['0 0 12 ? * 6#3', /day 1 is Sunday/],
      ['0 9 ? * 2-6', /day 1 is Sunday/],
      ['0 0 12 ? * 6L 2030', /day 1 is Sunday/],
      ['0 10 * * ? *', /begins with seconds.*"0 10 \* \* \*"/],
      ['15 12 ? * MON-FRI *', /begins with seconds/],
      ['0 9 * * * | 0 8 1 * ? *', /"0 8 1 \* \? \*".*begins with seconds/],
      ['? 9 * * *', /can only be the day/],
    ] as const)
      assert.throws(() => requireOwnFormat(cron), { code: 'usage', message: why }, cron)
    for (const cron of [
      '0 0 12 ? * MON',
      '0 0 12 ? * FRI#3',
      '0 9 ? * MON-FRI',
      '0 0 0 LW * ?',
      '0 9 * * 1',
      '0 9 1/2 * ?',
    ])
      requireOwnFormat(cron)
  })
})
