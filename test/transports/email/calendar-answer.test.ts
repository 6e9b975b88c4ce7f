import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import ICAL from 'ical.js'
import type { Message } from '../../../src/core/message.ts'
import { mail, readMails, replyTo, startMailServer } from './harness.ts'

const mailServer = await startMailServer()
const daemon = await mailServer.daemon()

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

/** Delivers an invitation and resolves with its message. */
async function invite(content: string, headers: Record<string, string> = {}): Promise<Message> {
  const count = daemon.store.messages.length
  const type = 'text/calendar; charset=utf-8; method=REQUEST'
  await mailServer.deliver(
    mail({ subject: 'Invitation', text: content, headers: { 'Content-Type': type, ...headers } }),
  )
  return daemon.message(count)
}

/** The newest mail to the organiser, and its calendar. */
async function lastAnswer() {
  const read = (await readMails(mailServer, 'anna@example.net')).at(-1)
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
  for (const [answer, status, prefix] of [
    ['accept', 'ACCEPTED', 'Accepted'],
    ['tentative', 'TENTATIVE', 'Tentative'],
    ['decline', 'DECLINED', 'Declined'],
  ] as const) {
    test(`is a calendar reply (RFC 5546): ${answer}`, async () => {
      const message = await invite(invitation(...GOOGLE))
      await daemon.transport.send({ ...replyTo(message, 'See you.', `k:${answer}`), calendar: answer })
      const { read, method, value, attendee } = await lastAnswer()
      assert.deepEqual([read.subject, read.text.trim()], [`${prefix}: Sync; weekly, Zürich`, 'See you.'])
      assert.equal(method, 'REPLY')
      assert.equal(value('uid'), '7kukuqrfed@google.com')
      assert.equal(value('organizer'), 'mailto:anna@example.net')
      assert.deepEqual([value('sequence'), value('dtstart')], ['2', '2026-12-03T09:00:00Z'])
      assert.equal(attendee?.getFirstValue(), 'mailto:support@example.com')
      assert.equal(attendee?.getParameter('partstat'), status)
    })
  }

  test('names the day of an all-day event, and the occurrence of a repeated one', async () => {
    const allDay = await invite(invitation(...ALL_DAY))
    await daemon.transport.send({ ...replyTo(allDay, '', 'k:day'), calendar: 'accept' })
    const first = await lastAnswer()
    assert.deepEqual([first.value('dtstart'), first.read.text.trim()], ['2026-12-03', 'Accepted: Fair'])
    const one = await invite(invitation(...ONE_OF_MANY))
    await daemon.transport.send({ ...replyTo(one, '', 'k:one'), calendar: 'decline' })
    assert.equal((await lastAnswer()).value('recurrence-id'), '2026-12-03T09:00:00Z')
  })

  test('is sent to an automatic invitation, unlike a plain text', async () => {
    const message = await invite(invitation(...GOOGLE), { 'Auto-Submitted': 'auto-generated' })
    const plain = await daemon.transport.send(replyTo(message, 'hello', 'k:text'))
    assert.deepEqual(plain.data, { suppressed: 'auto-submitted' })
    const count = mailServer.smtp.taken.length
    await daemon.transport.send({ ...replyTo(message, '', 'k:auto'), calendar: 'accept' })
    assert.equal(mailServer.smtp.taken.length, count + 1)
  })

  test('is refused if there is no valid invitation, or it is cancelled', async () => {
    const count = daemon.store.messages.length
    await mailServer.deliver(mail({}))
    const cancelled = invitation(...GOOGLE).replace('METHOD:REQUEST', 'METHOD:CANCEL')
    for (const message of [
      await daemon.message(count),
      await invite(cancelled, { 'Content-Type': 'text/calendar; method=CANCEL' }),
      await invite(invitation(...GOOGLE).replace(/UID:.*\r\n/, '')),
    ])
      await assert.rejects(
        daemon.transport.send({ ...replyTo(message, '', message.id), calendar: 'accept' }),
        {
          code: 'send_rejected',
        },
      )
  })
})
