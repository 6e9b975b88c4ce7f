import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, replyTo, startWorld } from './harness.ts'

type Came = { id: string; from?: string; subject?: string; headers?: Record<string, string>; text: string }

/** A mail with parts. */
const parts = (...each: string[]) => `--B\n${each.join('\n--B\n')}\n--B--`
const status = (fields = '') =>
  `Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; anna@example.net\nAction: failed\nStatus: 5.1.1\n${fields}\n`
const original = (id: string) =>
  `Content-Type: text/rfc822-headers\n\nFrom: support@example.com\nMessage-ID: ${id}\nSubject: Re: Help\n`
const reportOf = (type: string) => ({ 'Content-Type': `multipart/report; report-type=${type}; boundary=B` })
const DAEMON = 'Mail Delivery System <MAILER-DAEMON@mx.example.org>'

const world = await startWorld()

describe('what comes back to a mailbox that answered', () => {
  let users = 0
  /** A daemon that has answered one message; `came` delivers what follows from that, and a mail after it. */
  const answered = async (options: object = {}) => {
    const user = `user-${++users}@example.com`
    const daemon = await world.daemon({ address: user, ...options })
    await world.deliver(mail({ subject: 'Help' }), user)
    const message = await daemon.message()
    const { id } = await daemon.transport.send(replyTo(message, 'We look into it.'))
    const came = async (make: (id: string) => Omit<Came, 'id'>, envelope = '') => {
      await world.deliver(mail(make(id)), user, envelope)
      await world.deliver(mail({ subject: 'the end' }), user)
      const isEnd = ({ subject }: { subject?: string }) => subject === 'the end'
      await until(() => daemon.store.messages.some(isEnd), 'the mail after it')
      const [, next] = daemon.store.messages
      return next && !isEnd(next) ? next : undefined
    }
    return { daemon, came, message, user }
  }
  const whatOf = ({ notes }: Daemon) => notes.map(({ what }) => what)

  const bounces: Record<string, (id: string) => Omit<Came, 'id'>> = {
    'a report of Postfix': (id) => ({
      from: DAEMON,
      subject: 'Undelivered Mail Returned to Sender',
      headers: { ...reportOf('delivery-status'), 'Auto-Submitted': 'auto-replied' },
      text: parts('\nNot delivered.', status(), original(id)),
    }),
    'a report of Exchange, in the thread of the answer': (id) => ({
      from: 'postmaster@example.org',
      subject: 'Undeliverable: Re: Help',
      headers: {
        ...reportOf('"delivery-status"'),
        'In-Reply-To': id,
        'X-MS-Exchange-Message-Is-Ndr': '',
        'X-Auto-Response-Suppress': 'All',
      },
      text: parts('Content-Type: text/html\n\n<p>Delivery has failed</p>', status()),
    }),
    'a plain text of Exim, which calls itself auto-replied': (id) => ({
      from: DAEMON,
      subject: 'Mail delivery failed: returning message to sender',
      headers: { 'X-Failed-Recipients': 'anna@example.net', 'Auto-Submitted': 'auto-replied' },
      text: `This message was created automatically by mail delivery software.\n\n  anna@example.net\n    Unrouteable address\n\n------ This is a copy of the message, including all the headers. ------\n\nFrom: support@example.com\nMessage-ID: ${id}\n`,
    }),
    'a text of qmail': (id) => ({
      from: 'MAILER-DAEMON@qmail.example.org',
      subject: 'failure notice',
      text: `Hi. This is the qmail-send program at qmail.example.org.\n\n<anna@example.net>:\nSorry, no mailbox here by that name. (#5.1.1)\n\n--- Below this line is a copy of the message.\n\nMessage-ID: ${id}\n`,
    }),
  }
  for (const [name, make] of Object.entries(bounces)) {
    test(`${name} is told of the answer, and is no message`, async () => {
      const { daemon, came, message } = await answered()
      assert.equal(await came(make), undefined)
      const notes = daemon.notes.map(({ messageId, what }) => [messageId, what])
      assert.deepEqual(notes, [[message.id, 'bounced']])
      assert.equal(daemon.notes[0]?.detail.recipient ?? 'anna@example.net', 'anna@example.net')
      assert.deepEqual(daemon.refused, ['bounce'])
      assert.ok(daemon.logs.some(({ level }) => level === 'error'))
    })
  }

  const messages: Record<
    string,
    { from: string; auto?: string; envelope?: string; make: (id: string) => Partial<Came> }
  > = {
    'a person who is postmaster': {
      from: 'postmaster@customer.example',
      auto: 'robot-address',
      envelope: 'postmaster@customer.example',
      make: (id) => ({ headers: { 'In-Reply-To': id }, text: 'Please look at my ticket.\n' }),
    },
    'a person who attaches a report for us to read': {
      from: 'Anna <anna@example.net>',
      envelope: 'anna@example.net',
      make: (id) => ({
        headers: { 'Content-Type': 'multipart/mixed; boundary=B' },
        text: parts('\nWhat does this mean?', status(), original(id)),
      }),
    },
    'an out-of-office note of Exchange': {
      from: 'Bob <bob@example.org>',
      auto: 'auto-submitted',
      make: (id) => ({
        subject: 'Automatic reply: Re: Help',
        headers: {
          'Auto-Submitted': 'auto-generated',
          'X-Auto-Response-Suppress': 'All',
          'X-MS-Exchange-Inbox-Rules-Loop': 'bob@example.org',
          'In-Reply-To': id,
          References: id,
        },
        text: `I am away until Monday.\n\nMessage-ID: ${id}\n`,
      }),
    },
    'a notice of a mailer daemon about something else': {
      from: DAEMON,
      auto: 'null-return-path',
      make: () => ({
        text: 'Your quota is nearly used up.\nMessage-ID: <trivium.0011223344556677889900112233445566778899@x>',
      }),
    },
  }
  for (const [name, { from, auto, envelope, make }] of Object.entries(messages)) {
    test(`${name} is a message${auto ? `, marked ${auto}` : ''}, and no bounce`, async () => {
      const { daemon, came } = await answered()
      const found = await came((id) => ({ from, subject: 'Question', text: '', ...make(id) }), envelope)
      assert.equal(found?.from.address, /[^\s<>]+@[^\s<>]+/.exec(from)?.[0].toLowerCase())
      assert.equal(found?.data.auto, auto)
      assert.deepEqual([daemon.refused, whatOf(daemon)], [[], []])
      assert.ok(!daemon.logs.some(({ level }) => level === 'error'))
    })
  }

  test('a bounce of what others sent from the mailbox stays there, also with after: delete', async () => {
    const { daemon, came, user } = await answered({ after: 'delete' })
    const foreign = () => ({
      from: DAEMON,
      subject: 'Undelivered',
      headers: reportOf('delivery-status'),
      text: parts('\nNot delivered.', status(), original('<of-a-person@example.com>')),
    })
    assert.equal(await came(foreign), undefined)
    await until(async () => (await world.mailbox(user)).length === 1, 'the other mails to be deleted')
    assert.match((await world.mailbox(user))[0] ?? '', /^Subject: Undelivered/m)
    assert.deepEqual(whatOf(daemon), [])
  })
})
