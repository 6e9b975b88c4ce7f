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

/** Runs the skill as a route does, on a state of its own. */
async function startSkill(t: TestContext) {
  const { manager } = await startRuntime(t)
  return (message: Message, args: JsonObject = {}) =>
    manager.invoke('autoresponder', { timezone: 'Europe/Berlin', route: 'r', ...args }, { message })
}

describe('the autoresponder', () => {
  const SUNDAY = '2026-11-22T10:00:00Z'
  const MONDAY = '2026-11-23T10:00:00Z'

  test('outside the hours says when somebody is back, within them that the mail has arrived', async (t) => {
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

  test('answers a correspondent once in a period, a retry of the same message the same, and others too', async (t) => {
    const run = await startSkill(t)
    const first = await run(message('m1', SUNDAY))
    assert.ok(first)
    assert.deepEqual(await run(message('m2', SUNDAY)), {
      noReply: 'anna@example.net got an answer within the last 24 hours',
    })
    assert.equal(await run(message('m1', SUNDAY)), first)
    const [from, other] = ['bob@example.org', 'Anna+2@example.net'].map((address) => ({
      id: address,
      address,
    }))
    assert.ok(from && other)
    assert.deepEqual(await run(message('m3', SUNDAY, { from })), {
      noReply: 'the conversation got an answer within the last 24 hours',
    })
    assert.ok(
      await run(message('m5', SUNDAY, { from: { ...from, address: 'carl@example.org' }, conversation: 'd' })),
    )
    const again = await run(message('m6', SUNDAY, { from: other, conversation: 'e' }))
    assert.match(String(Object(again).noReply), /^anna@example\.net got an answer/)
    assert.ok(await run(message('m4', SUNDAY), { route: 'another' }))
  })

  test('never answers automatic mail, nor what would not be sent, and does not count it', async (t) => {
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

  test('takes its own templates and holidays', async (t) => {
    const answer = await (await startSkill(t))(message('m1', MONDAY), {
      away: 'Back {{ opens }}, {{name}}. {{nothing}}',
      holidays: ['2026-11-23'],
      locale: 'de-DE',
    })
    assert.equal(answer, 'Back Dienstag, 24. November 2026 um 09:00, Anna.')
  })
})

describe('office hours', () => {
  test('are written as in `hours` of a `match`, except for the time zone', () => {
    const week = Array.from({ length: 7 * 24 * 4 }, (_, at) => Date.UTC(2026, 10, 2, 0, at * 15))
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

  test('know the time zone, ranges over the weekend, and the change of the clock', () => {
    const hours = officeHours('Sat-Mon 08:00-12:00, Wed 22:00-24:00', 'Europe/Berlin', [])
    assert.equal(hours.isOpen(new Date('2026-11-22T07:00:00Z')), true)
    assert.equal(hours.isOpen(new Date('2026-11-22T06:59:00Z')), false)
    assert.equal(hours.isOpen(new Date('2026-11-25T22:59:00Z')), true)
    assert.equal(hours.isOpen(new Date('2026-11-24T09:00:00Z')), false)
    // The clock goes forward on 29 March 2026.
    const open = (text: string, at: string) => officeHours(text, 'UTC', []).isOpen(new Date(at))
    // 2026-11-20 is a Friday.
    const nights = 'Mon,Fri-Sun 22:00-06:00'
    const told = '20T21:55 20T22:00 21T05:55 21T06:00 22T23:00 23T05:00 24T05:00 25T05:00'.split(' ')
    assert.deepEqual(
      told.map((each) => open(nights, `2026-11-${each}Z`)),
      [false, true, true, false, true, true, true, false],
    )
    const spring = officeHours('Sun 08:00-12:00', 'Europe/Berlin', [])
    assert.equal(
      spring.nextOpening(new Date('2026-03-28T12:00:00Z'))?.toISOString(),
      '2026-03-29T06:00:00.000Z',
    )
    const odd = officeHours('Sun 08:07-12:00', 'UTC', [])
    assert.equal(odd.nextOpening(new Date('2026-03-28T12:00:00Z'))?.getUTCMinutes(), 7)
  })

  test('say what is wrong with them', () => {
    assert.throws(() => officeHours('always', 'UTC', []), /is not of the form "Mon-Fri 09:00-17:00"/)
    assert.throws(() => officeHours('Mon 09:00-09:00', 'UTC', []), /ends when it starts/)
    assert.throws(() => officeHours('Mon 09:00-25:00', 'UTC', []), /"25:00" is not a time of day/)
    assert.throws(() => officeHours('Mon 09:00-10:00, Tue', 'UTC', []), /ends with days that have no hours/)
    assert.throws(() => officeHours('Moo 09:00-10:00', 'UTC', []), /is not a day/)
    assert.throws(() => officeHours('24/7', 'Mars/Olympus', []), /Invalid time zone.*Mars/)
  })
})
