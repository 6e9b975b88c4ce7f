import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import ICAL from 'ical.js'
import type { Message } from '../../../src/core/message.ts'
import { mail, readMails, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
const daemon = await world.daemon()

const invitation = (...lines: string[]) =>
  [
    ...['BEGIN:VCALENDAR', 'PRODID:-//Example//EN', 'VERSION:2.0', 'METHOD:REQUEST', 'BEGIN:VEVENT'],
    ...['UID:7kukuqrfed@google.com', 'DTSTAMP:20261127T120000Z', 'ORGANIZER;CN=Anna:mailto:anna@example.net'],
    ...['ATTENDEE;RSVP=TRUE;CN=Support:mailto:support@example.com', 'SEQUENCE:2', ...lines],
    ...['END:VEVENT', 'END:VCALENDAR', ''],
  ].join('\r\n')
const GOOGLE = ['DTSTART:20261203T090000Z', 'DTEND:20261203T100000Z', 'SUMMARY:Sync\\; weekly\\, Zürich']
const ALL_DAY = ['DTSTART;VALUE=DATE:20261203', 'DTEND;VALUE=DATE:20261204', 'SUMMARY:Fair']
const ONE_OF_MANY = ['DTSTART:20261203T090000Z', 'RECURRENCE-ID:20261203T090000Z', 'SUMMARY:Sync']

async function invited(content: string, headers: Record<string, string> = {}): Promise<Message> {
  const count = daemon.store.messages.length
  const type = 'text/calendar; charset=utf-8; method=REQUEST'
  await world.deliver(
    mail({ subject: 'Invitation', text: content, headers: { 'Content-Type': type, ...headers } }),
  )
  return daemon.message(count)
}

/** The calendar in the newest mail to the organiser. */
async function answered() {
  const read = (await readMails(world, 'anna@example.net')).at(-1)
  const part = read?.parts.find(({ type }) => type === 'text/calendar' || type === 'application/ics')
  assert.ok(read && part)
  const calendar = new ICAL.Component(ICAL.parse(Buffer.from(part.content).toString()))
  const event = calendar.getFirstSubcomponent('vevent')
  assert.ok(event)
  const value = (name: string) => event.getFirstPropertyValue(name)?.toString()
  const attendee = event.getFirstProperty('attendee')
  return { read, method: calendar.getFirstPropertyValue('method'), value, attendee }
}

describe('an answer to an invitation', () => {
  for (const [answer, status, word] of [
    ['accept', 'ACCEPTED', 'Accepted'],
    ['tentative', 'TENTATIVE', 'Tentative'],
    ['decline', 'DECLINED', 'Declined'],
  ] as const) {
    test(`is what calendars read: ${answer}`, async () => {
      const message = await invited(invitation(...GOOGLE))
      await daemon.transport.send({ ...replyTo(message, 'See you.', `k:${answer}`), calendar: answer })
      const { read, method, value, attendee } = await answered()
      assert.deepEqual([read.subject, read.text.trim()], [`${word}: Sync; weekly, Zürich`, 'See you.'])
      assert.equal(method, 'REPLY')
      assert.equal(value('uid'), '7kukuqrfed@google.com')
      assert.equal(value('organizer'), 'mailto:anna@example.net')
      assert.deepEqual([value('sequence'), value('dtstart')], ['2', '2026-12-03T09:00:00Z'])
      assert.equal(attendee?.getFirstValue(), 'mailto:support@example.com')
      assert.equal(attendee?.getParameter('partstat'), status)
    })
  }

  test('names the day, or the one of several times, that was meant', async () => {
    const allDay = await invited(invitation(...ALL_DAY))
    await daemon.transport.send({ ...replyTo(allDay, '', 'k:day'), calendar: 'accept' })
    const first = await answered()
    assert.deepEqual([first.value('dtstart'), first.read.text.trim()], ['2026-12-03', 'Accepted: Fair'])
    const one = await invited(invitation(...ONE_OF_MANY))
    await daemon.transport.send({ ...replyTo(one, '', 'k:one'), calendar: 'decline' })
    assert.equal((await answered()).value('recurrence-id'), '2026-12-03T09:00:00Z')
  })

  test('goes out where a calendar sent the invitation by itself, and a text alone does not', async () => {
    const message = await invited(invitation(...GOOGLE), { 'Auto-Submitted': 'auto-generated' })
    const plain = await daemon.transport.send(replyTo(message, 'hello', 'k:text'))
    assert.deepEqual(plain.data, { suppressed: 'auto-submitted' })
    const count = world.smtp.taken.length
    await daemon.transport.send({ ...replyTo(message, '', 'k:auto'), calendar: 'accept' })
    assert.equal(world.smtp.taken.length, count + 1)
  })

  test('is refused where there is no invitation, or it is cancelled', async () => {
    const count = daemon.store.messages.length
    await world.deliver(mail({}))
    const cancelled = invitation(...GOOGLE).replace('METHOD:REQUEST', 'METHOD:CANCEL')
    for (const message of [
      await daemon.message(count),
      await invited(cancelled, { 'Content-Type': 'text/calendar; method=CANCEL' }),
      await invited(invitation(...GOOGLE).replace(/UID:.*\r\n/, '')),
    ])
      await assert.rejects(
        daemon.transport.send({ ...replyTo(message, '', message.id), calendar: 'accept' }),
        {
          code: 'send_rejected',
        },
      )
  })
})
