import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { officeHours } from '../../skills/autoresponder/hours.ts'
import { compileHours } from '../../src/core/hours.ts'
import type { JsonObject } from '../../src/core/json.ts'
import type { Message } from '../../src/core/message.ts'
import { messageOf } from './support/message.ts'
import { startRuntime } from './support/runtime.ts'

const message = (id: string, at: string, more: Partial<Message> = {}): Message =>
  messageOf({
    id,
    transport: 'email',
    receivedAt: Date.parse(at),
    from: { id: 'anna@example.net', address: 'Anna@example.net', name: 'Anna' },
    subject: 'My *parcel*',
    ...more,
  })

/** Returns a function that runs the skill as a route does. Each start has its own state. */
async function startSkill(t: TestContext) {
  const { manager } = await startRuntime(t)
  return (message: Message, args: JsonObject = {}) =>
    manager.invoke('autoresponder', { timezone: 'Europe/Berlin', route: 'r', ...args }, { message })
}

describe('the autoresponder', () => {
  const SUNDAY = '2026-11-22T10:00:00Z'
  const MONDAY = '2026-11-23T10:00:00Z'

  test('outside office hours says when they begin, and within them that the mail has arrived', async (t) => {
    const run = await startSkill(t)
    const away = await run(message('m1', SUNDAY))
    assert.match(String(away), /Hello Anna,/)
    assert.match(String(away), /My \\\*parcel\\\*/)
    assert.match(String(away), /Monday,? 23 November 2026 at 09:00/)
    const received = await (await startSkill(t))(message('m2', MONDAY))
    assert.match(String(received), /has arrived/)
    assert.deepEqual(await (await startSkill(t))(message('m3', MONDAY), { when: 'outside-hours' }), {
      noReply: 'it is within the office hours',
    })
  })

  test('answers a correspondent, or a conversation, once in a period', async (t) => {
    const run = await startSkill(t)
    const bob = { id: 'bob@example.org', address: 'bob@example.org' }
    // The address counts, not the id.
    const carl = { id: 'bob@example.org', address: 'carl@example.org' }
    const annaWithTag = { id: 'Anna+2@example.net', address: 'Anna+2@example.net' }
    assert.ok(await run(message('m1', SUNDAY)))
    const answered = { noReply: 'anna@example.net got an answer less than 24 hours ago' }
    assert.deepEqual(await run(message('m2', SUNDAY)), answered)
    assert.deepEqual(await run(message('m3', SUNDAY, { from: annaWithTag, conversation: 'c3' })), answered)
    assert.deepEqual(await run(message('m4', SUNDAY, { from: bob })), {
      noReply: 'the conversation got an answer less than 24 hours ago',
    })
    // A refused answer uses up nothing: Bob still gets one in another conversation.
    assert.equal(typeof (await run(message('m7', SUNDAY, { from: bob, conversation: 'c7' }))), 'string')
    assert.ok(await run(message('m5', SUNDAY, { from: carl, conversation: 'c2' })))
    assert.ok(await run(message('m6', SUNDAY), { route: 'another' }))
  })

  test('names the period as people do', async (t) => {
    const run = await startSkill(t)
    const periods = {
      '1m': 'a minute',
      '60m': 'an hour',
      '80m': '80 minutes',
      '150m': '150 minutes',
      '2h': '2 hours',
      '1d': '24 hours',
      '36h': '36 hours',
      '1w': '7 days',
    }
    for (const [period, words] of Object.entries(periods)) {
      const from = { id: `${period}@example.org`, address: `${period}@example.org` }
      const answer = await run(message(period, SUNDAY, { from, conversation: period }), { period })
      assert.match(String(answer), new RegExp(`once in ${words},`))
    }
  })

  test('gives a repeated attempt for one message the same answer', async (t) => {
    const run = await startSkill(t)
    const answer = await run(message('m1', SUNDAY))
    assert.ok(answer)
    assert.equal(await run(message('m1', SUNDAY)), answer)
  })

  test('does not answer or count automatic mail, and mail whose reply would not be sent', async (t) => {
    const run = await startSkill(t)
    assert.deepEqual(await run(message('m1', SUNDAY, { data: { auto: 'list' } })), {
      noReply: 'it is automatic mail (list)',
    })
    const old = { to: 'anna@example.net', suppress: 'too-old' }
    assert.deepEqual(await run(message('m0', SUNDAY, { data: { replyTarget: old } })), {
      noReply: 'it cannot be answered (too-old)',
    })
    assert.ok(await run(message('m2', SUNDAY)))
  })

  test('uses custom templates, holidays and a locale', async (t) => {
    const answer = await (await startSkill(t))(message('m1', MONDAY), {
      away: 'Back {{ opens }}, {{name}}. {{nothing}}',
      holidays: ['2026-11-23'],
      locale: 'de-DE',
    })
    assert.equal(answer, 'Back Dienstag, 24. November 2026 um 09:00, Anna.')
  })
})

describe('office hours', () => {
  test('have the syntax of `hours` in a `match`, without the time zone', () => {
    const week = Array.from({ length: 7 * 24 * 4 }, (_, quarter) => Date.UTC(2026, 10, 2, 0, quarter * 15))
    for (const hours of [
      'Mon-Fri 09:00-12:00, 13:00-17:00; Sat 10:00-14:00',
      'Mon-Fri 09:00-17:00, Sat 10:00-14:00',
      'Mon, Wed, Fri 09:00-17:00; 18:00-19:00',
      'Fri 22:00-06:00',
      '22:00-06:00',
    ]) {
      const [office, match] = [officeHours(hours, 'UTC', []), compileHours(`${hours} UTC`)]
      assert.deepEqual(
        week.map((at) => office.isOpen(new Date(at))),
        week.map((at) => match.fits(at)),
        hours,
      )
    }
  })

  test('know the time zone, and ranges of days over the weekend', () => {
    const hours = officeHours('Sat-Mon 08:00-12:00, Wed 22:00-24:00', 'Europe/Berlin', [])
    assert.equal(hours.isOpen(new Date('2026-11-22T07:00:00Z')), true)
    assert.equal(hours.isOpen(new Date('2026-11-22T06:59:00Z')), false)
    assert.equal(hours.isOpen(new Date('2026-11-25T22:59:00Z')), true)
    assert.equal(hours.isOpen(new Date('2026-11-24T09:00:00Z')), false)
  })

  test('can last over midnight', () => {
    const nights = officeHours('Mon,Fri-Sun 22:00-06:00', 'UTC', [])
    // 20 November 2026 is a Friday.
    const expected = {
      '20T21:55': false,
      '20T22:00': true,
      '21T05:55': true,
      '21T06:00': false,
      '22T23:00': true,
      '23T05:00': true,
      '24T05:00': true,
      '25T05:00': false,
    }
    for (const [time, isOpen] of Object.entries(expected))
      assert.equal(nights.isOpen(new Date(`2026-11-${time}Z`)), isOpen, time)
  })

  test('have a next opening, exact to the minute and after a change of the clock', () => {
    const saturday = new Date('2026-03-28T12:00:00Z')
    // The clock goes forward on 29 March 2026.
    const spring = officeHours('Sun 08:00-12:00', 'Europe/Berlin', [])
    assert.equal(spring.nextOpening(saturday)?.toISOString(), '2026-03-29T06:00:00.000Z')
    const oddMinute = officeHours('Sun 08:07-12:00', 'UTC', [])
    assert.equal(oddMinute.nextOpening(saturday)?.toISOString(), '2026-03-29T08:07:00.000Z')
  })

  test('are refused with the reason if they are invalid', () => {
    assert.throws(() => officeHours('always', 'UTC', []), /is not of the form "Mon-Fri 09:00-17:00"/)
    assert.throws(() => officeHours('Mon 09:00-09:00', 'UTC', []), /ends when it starts/)
    assert.throws(() => officeHours('Mon 09:00-25:00', 'UTC', []), /"25:00" is not a time of day/)
    assert.throws(() => officeHours('Mon 09:00-10:00, Tue', 'UTC', []), /ends with days that have no hours/)
    assert.throws(() => officeHours('Moo 09:00-10:00', 'UTC', []), /is not a day/)
    assert.throws(() => officeHours('24/7', 'Mars/Olympus', []), /Invalid time zone.*Mars/)
  })
})
