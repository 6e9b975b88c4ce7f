import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, replyTo, startMailServer } from './harness.ts'

type Mail = { id: string; from?: string; subject?: string; headers?: Record<string, string>; text: string }

/** The body of a multipart mail. */
const parts = (...each: string[]) => `--B\n${each.join('\n--B\n')}\n--B--`
const status = (fields = '') =>
  `Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; anna@example.net\nAction: failed\nStatus: 5.1.1\n${fields}\n`
const original = (id: string) =>
  `Content-Type: text/rfc822-headers\n\nFrom: support@example.com\nMessage-ID: ${id}\nSubject: Re: Help\n`
const reportOf = (type: string) => ({ 'Content-Type': `multipart/report; report-type=${type}; boundary=B` })
const DAEMON = 'Mail Delivery System <MAILER-DAEMON@mx.example.org>'

const mailServer = await startMailServer()

describe('a mailbox that has answered a mail', () => {
  let users = 0
  /**
   * A daemon that has answered one message. `respond` delivers a response to the answer, and a
   * further mail. It resolves with the message of the response; undefined if there is none.
   */
  const startAnswered = async (options: object = {}) => {
    const user = `user-${++users}@example.com`
    const daemon = await mailServer.daemon({ address: user, ...options })
    await mailServer.deliver(mail({ subject: 'Help' }), user)
    const message = await daemon.message()
    const { id } = await daemon.transport.send(replyTo(message, 'We look into it.'))
    const respond = async (make: (id: string) => Omit<Mail, 'id'>, envelope = '') => {
      await mailServer.deliver(mail(make(id)), user, envelope)
      await mailServer.deliver(mail({ subject: 'the end' }), user)
      const isEnd = ({ subject }: { subject?: string }) => subject === 'the end'
      await until(() => daemon.store.messages.some(isEnd), 'the further mail')
      const [, next] = daemon.store.messages
      return next && !isEnd(next) ? next : undefined
    }
    return { daemon, respond, message, user }
  }
  const noteKinds = ({ notes }: Daemon) => notes.map(({ what }) => what)

  const bounces: Record<string, (id: string) => Omit<Mail, 'id'>> = {
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
    'a text of Exim with Auto-Submitted: auto-replied': (id) => ({
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
    test(`records ${name} as a bounce of its answer, and not as a message`, async () => {
      const { daemon, respond, message } = await startAnswered()
      assert.equal(await respond(make), undefined)
      // Bounces are reported when the messages of their batch are stored.
      await until(() => daemon.refused.length > 0, 'the report')
      const notes = daemon.notes.map(({ messageId, what }) => [messageId, what])
      assert.deepEqual(notes, [[message.id, 'bounced']])
      assert.equal(daemon.notes[0]?.detail.recipient ?? 'anna@example.net', 'anna@example.net')
      assert.deepEqual(daemon.refused, ['bounce'])
      assert.ok(daemon.logs.some(({ level }) => level === 'error'))
    })
  }

  const messages: Record<
    string,
    { from: string; auto?: string; envelope?: string; make: (id: string) => Partial<Mail> }
  > = {
    'a person who is postmaster': {
      from: 'postmaster@customer.example',
      auto: 'robot-address',
      envelope: 'postmaster@customer.example',
      make: (id) => ({ headers: { 'In-Reply-To': id }, text: 'Please look at my ticket.\n' }),
    },
    'a person who forwards a report': {
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
    'a notice of a mailer daemon about another topic': {
      from: DAEMON,
      auto: 'null-return-path',
      make: () => ({
        text: 'Your quota is nearly used up.\nMessage-ID: <trivium.0011223344556677889900112233445566778899@x>',
      }),
    },
  }
  for (const [name, { from, auto, envelope, make }] of Object.entries(messages)) {
    test(`accepts a mail of ${name} as a message${auto ? ` marked ${auto}` : ''}, and not as a bounce`, async () => {
      const { daemon, respond } = await startAnswered()
      const accepted = await respond((id) => ({ from, subject: 'Question', text: '', ...make(id) }), envelope)
      assert.equal(accepted?.from.address, /[^\s<>]+@[^\s<>]+/.exec(from)?.[0].toLowerCase())
      assert.equal(accepted?.data.auto, auto)
      assert.deepEqual([daemon.refused, noteKinds(daemon)], [[], []])
      assert.ok(!daemon.logs.some(({ level }) => level === 'error'))
    })
  }

  test('leaves a bounce of a mail that it did not send, also with `after: delete`', async () => {
    const { daemon, respond, user } = await startAnswered({ after: 'delete' })
    const foreign = () => ({
      from: DAEMON,
      subject: 'Undelivered',
      headers: reportOf('delivery-status'),
      text: parts('\nNot delivered.', status(), original('<of-a-person@example.com>')),
    })
    assert.equal(await respond(foreign), undefined)
    await until(async () => (await mailServer.mailbox(user)).length === 1, 'the deletion of the other mails')
    assert.match((await mailServer.mailbox(user))[0] ?? '', /^Subject: Undelivered/m)
    assert.deepEqual(noteKinds(daemon), [])
  })
})
