import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { Message } from '../../../src/core/message.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { header } from '../../../transports/email/inbound/parse.ts'
import { startDovecot } from '../../fixtures/dovecot.ts'
import { createMemoryStore } from '../../fixtures/memory-store.ts'
import { startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, readMails, replyTo, startWorld, type World } from './harness.ts'

describe('answering by mail', () => {
  let world: World
  before(async () => {
    world = await startWorld()
  })
  after(() => world.close())
  beforeEach(() => {
    world.smtp.taken.length = 0
    world.smtp.next.length = 0
  })

  const received = async (daemon: Daemon, raw: string): Promise<Message> => {
    const count = daemon.store.messages.length
    await world.deliver(raw)
    return until(() => daemon.store.messages[count], 'the message')
  }
  const code = (expected: string, retryable: boolean) => (error: unknown) => {
    assert.ok(error instanceof Error && 'code' in error && 'retryable' in error)
    assert.deepEqual([error.code, error.retryable], [expected, retryable], error.message)
    return true
  }

  test('a reply continues the thread: subject, In-Reply-To, and all References with the mail’s own id last', async () => {
    const daemon = await world.daemon()
    const message = await received(
      daemon,
      mail({
        id: 'm3@example.net',
        subject: 'RE: Parcel',
        headers: { 'In-Reply-To': '<m2@example.net>', References: '<m1@example.net>\r\n <m2@example.net>' },
      }),
    )
    await daemon.transport.send(replyTo(message, 'ok'))
    const [sent] = world.smtp.taken
    const text = sent?.raw.toString().replaceAll(/\r\n\s+/g, ' ') ?? ''
    assert.match(text, /^References: <m1@example\.net> <m2@example\.net> <m3@example\.net>\r$/m)
    assert.match(text, /^In-Reply-To: <m3@example\.net>\r$/m)
    assert.match(text, /^Subject: RE: Parcel\r$/m)
    assert.equal(sent?.from, 'support@example.com')
    await daemon.stop()
  })

  test('mails of one thread are one conversation, also an answer to our answer that names only it', async () => {
    const daemon = await world.daemon()
    const first = await received(daemon, mail({ id: 't1@example.net', subject: 'Thread' }))
    const receipt = await daemon.transport.send(replyTo(first, 'answer'))
    const second = await received(
      daemon,
      mail({ id: 't2@example.net', headers: { 'In-Reply-To': receipt.id } }),
    )
    const third = await received(
      daemon,
      mail({ id: 't3@example.net', headers: { References: '<t2@example.net>' } }),
    )
    const bySubject = await received(daemon, mail({ subject: 'Re: Thread' }))
    const other = await received(daemon, mail({ subject: 'Thread' }))
    const stranger = await received(daemon, mail({ subject: 'Re: Thread', from: 'eve@example.org' }))
    assert.deepEqual(
      [second, third, bySubject].map(({ conversation }) => conversation),
      [first, first, first].map(({ conversation }) => conversation),
    )
    assert.notEqual(other.conversation, first.conversation)
    assert.notEqual(stranger.conversation, first.conversation)
    await daemon.stop()
  })

  test('the reply goes to the mail’s own sender and carries no header that a skill made up', async () => {
    const daemon = await world.daemon({ 'reply-to': 'desk@example.com', name: 'Support' })
    const message = await received(
      daemon,
      mail({ headers: { 'Reply-To': 'Anna at home <home@example.net>' } }),
    )
    await daemon.transport.send({
      ...replyTo(message, 'hello'),
      subject: 'Hi\r\nBcc: evil@example.org',
      data: { to: 'evil@example.org' },
    })
    const [sent] = world.smtp.taken
    assert.deepEqual(sent?.to, ['home@example.net'])
    assert.doesNotMatch(sent?.raw.toString() ?? '', /^Bcc/m)
    const [read] = await readMails(world, 'home@example.net')
    assert.equal(read?.subject, 'Hi Bcc: evil@example.org')
    assert.equal(read?.replyTo[0]?.address, 'desk@example.com')
    assert.deepEqual(read?.from, [{ name: 'Support', address: 'support@example.com' }])
    await daemon.stop()
  })

  test('markdown becomes HTML without anything that could do harm', async () => {
    const daemon = await world.daemon()
    const message = await received(daemon, mail({ from: 'html@example.net' }))
    const text =
      '# Hi\n\n- a\n\n<script>alert(1)</script>\n\n<img src="https://evil/x.png">\n\n[x](javascript:alert(1)) `c`'
    await daemon.transport.send(replyTo(message, text))
    const [read] = await readMails(world, 'html@example.net')
    assert.match(read?.html ?? '', /<h1>Hi<\/h1>/)
    assert.match(read?.html ?? '', /<li>a<\/li>/)
    assert.doesNotMatch(read?.html ?? '', /<script|<img|javascript:/)
    assert.match(read?.text ?? '', /^Hi\n\n- a\n/)
    await daemon.stop()
  })

  test('attachments arrive as they were', async () => {
    const daemon = await world.daemon()
    const message = await received(daemon, mail({ from: 'files@example.net' }))
    const { Readable } = await import('node:stream')
    const bytes = Buffer.from([0, 1, 2, 250, 251, 13, 10, 46, 13, 10])
    const file = await daemon.deps.artifacts.save(
      'räkning.bin',
      'application/x-bill',
      Readable.from([bytes]),
      100,
    )
    await daemon.transport.send({ ...replyTo(message, 'here'), attachments: [file] })
    const [read] = await readMails(world, 'files@example.net')
    assert.equal(read?.parts[0]?.name, 'räkning.bin')
    assert.equal(read?.parts[0]?.type, 'application/x-bill')
    assert.deepEqual(Buffer.from(read?.parts[0]?.content ?? []), bytes)
    await daemon.stop()
  })

  test('4xx is tried again, 5xx is for good, and a server that is away is tried again', async () => {
    const daemon = await world.daemon()
    const message = await received(daemon, mail({}))
    const reply = replyTo(message, 'x')
    world.smtp.next.push({ kind: 'refuse', code: 452, text: '4.2.2 mailbox full' })
    await assert.rejects(daemon.transport.send(reply), code('send_failed', true))
    world.smtp.next.push({ kind: 'refuse', code: 552, text: '5.2.2 mailbox full' })
    await assert.rejects(daemon.transport.send(reply), code('send_rejected', false))
    world.smtp.next.push({ kind: 'cut-in-data' })
    await assert.rejects(daemon.transport.send(reply), (error: unknown) => {
      assert.ok(error instanceof Error && 'retryable' in error)
      return error.retryable === true
    })
    const away = await world.daemon({ smtp: { host: '127.0.0.1', port: 1, tls: 'none' } }, { start: 'later' })
    await assert.rejects(away.transport.send(reply), code('send_failed', true))
    await away.stop()
    await daemon.stop()
  })

  test('a wrong password for SMTP is tried again, for the operator can mend it', async () => {
    const strict = await startSmtpServer({ login: { user: 'support', pass: 'right' } })
    const daemon = await world.daemon({
      smtp: { host: '127.0.0.1', port: strict.port, tls: 'none', user: 'support', pass: 'wrong' },
    })
    const message = await received(daemon, mail({}))
    await assert.rejects(daemon.transport.send(replyTo(message, 'x')), code('send_failed', true))
    await daemon.stop()
    await strict.close()
  })

  test('a connection cut after DATA, before the answer, is ambiguous and not sent again by itself', async () => {
    const daemon = await world.daemon()
    const message = await received(daemon, mail({}))
    const reply = replyTo(message, 'only once')
    world.smtp.next.push({ kind: 'cut-after-data' })
    await assert.rejects(daemon.transport.send(reply), code('send_ambiguous', true))
    assert.equal(world.smtp.taken.length, 1)
    assert.deepEqual(await daemon.transport.probe?.(reply), { sent: 'unknown' })
    // Sent again all the same, by hand and later, it is the same mail to whoever got it.
    const nextSecond = Math.ceil((Date.now() + 1) / 1000) * 1000
    await until(() => Date.now() > nextSecond, 'another second on the clock')
    await daemon.transport.send(reply)
    const idAndDate = ({ raw }: { raw: Buffer }) => /^(Message-ID|Date): .*$/gim[Symbol.match](String(raw))
    const [once, again] = world.smtp.taken.map(idAndDate)
    assert.equal(once?.length, 2)
    assert.deepEqual(again, once)
    await daemon.stop()
  })

  test('an ambiguous send is resolved by looking into the Sent folder', async () => {
    const daemon = await world.daemon({ sent: { folder: 'Sent', copy: 'server' } })
    const message = await received(daemon, mail({}))
    const lost = replyTo(message, 'lost', 'k:lost')
    const arrived = replyTo(message, 'arrived', 'k:arrived')
    for (const reply of [lost, arrived]) {
      world.smtp.next.push({ kind: 'cut-after-data' })
      await assert.rejects(daemon.transport.send(reply), code('send_ambiguous', true))
    }
    const copy = world.smtp.taken[1]?.raw ?? Buffer.alloc(0)
    await world.as('support@example.com', (client) => client.append('Sent', copy))
    assert.deepEqual(await daemon.transport.probe?.(lost), { sent: false })
    const found = await daemon.transport.probe?.(arrived)
    assert.equal(found?.sent, true)
    assert.deepEqual(await daemon.transport.probe?.(replyTo(message, 'never begun', 'k:none')), {
      sent: false,
    })
    await daemon.stop()
  })

  test('a copy is kept in the Sent folder, which is made where it is missing', async () => {
    const daemon = await world.daemon({ sent: { folder: 'Sent by us' } })
    const message = await received(daemon, mail({ from: 'copy@example.net' }))
    const receipt = await daemon.transport.send(replyTo(message, 'kept'))
    const [copy] = await readMails(world, 'support@example.com', 'Sent by us')
    assert.equal(copy?.messageId, receipt.id)
    assert.equal(copy?.text.trim(), 'kept')
    await daemon.stop()
  })

  test('a copy for which the quota leaves no room is told of, and the mail is not sent again for it', async () => {
    const full = await startDovecot({
      config:
        'mail_plugins = quota\nplugin {\n quota = count:User\n quota_vsizes = yes\n quota_rule = *:storage=2K\n quota_grace = 0\n}',
    })
    const daemon = await world.daemon({
      imap: {
        host: '127.0.0.1',
        port: full.imapPort,
        tls: 'none',
        user: 'support@example.com',
        pass: full.password,
      },
      sent: { folder: 'Sent' },
    })
    const text = 'a long answer '.repeat(300)
    await daemon.transport.send({
      key: 'q1',
      gateway: 'support',
      conversation: 'c',
      to: 'quota@example.net',
      text,
    })
    assert.ok(
      daemon.logs.some(({ level, fields }) => level === 'error' && /quota/i.test(JSON.stringify(fields))),
    )
    assert.equal(
      (
        await daemon.transport.send({
          key: 'q1',
          gateway: 'support',
          conversation: 'c',
          to: 'quota@example.net',
          text,
        })
      ).id.startsWith('<trivium.'),
      true,
    )
    assert.equal(world.smtp.taken.length, 1)
    await daemon.stop()
    await full.close()
  })

  test('a send of a key that was sent is answered and not sent, by any daemon', async () => {
    const store = createMemoryStore()
    const daemon = await world.daemon({}, { store })
    const message = await received(daemon, mail({}))
    const reply = replyTo(message, 'once')
    const first = await daemon.transport.send(reply)
    await daemon.stop()
    const second = await world.daemon({}, { store })
    assert.equal((await second.transport.send(reply)).id, first.id)
    assert.equal(world.smtp.taken.length, 1)
    await second.stop()
  })

  test('a bounce is tied to its send, told in the log, and is no message', async () => {
    const daemon = await world.daemon()
    const message = await received(daemon, mail({}))
    const { id } = await daemon.transport.send(replyTo(message, 'to nobody'))
    const dsn = mail({
      from: 'MAILER-DAEMON@mx.example.com',
      headers: { 'Content-Type': 'multipart/report; report-type=delivery-status; boundary=B' },
      text: `--B\nContent-Type: text/plain\n\nFailed.\n--B\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; anna@example.net\nAction: failed\nStatus: 5.1.1\n\n--B\nContent-Type: text/rfc822-headers\n\nMessage-ID: ${id}\n\n--B--`,
    })
    await world.deliver(dsn, 'support@example.com', '')
    const line = await until(
      () => daemon.logs.find((each) => each.level === 'error' && each.message.includes('came back')),
      'the log line',
    )
    assert.ok('messageId' in line.fields && line.fields.messageId === message.id)
    assert.deepEqual(daemon.refused, ['bounce'])
    assert.deepEqual(
      daemon.notes.map(({ messageId, what }) => [messageId, what]),
      [[message.id, 'reply failed']],
    )
    assert.equal(daemon.store.messages.length, 1)
    const [record] = await daemon.deps.kv.list('email/support/sent/', 10)
    assert.match(JSON.stringify(await daemon.deps.kv.get(record ?? '')), /"status":"5\.1\.1"/)
    await daemon.stop()
  })

  test('mail to an explicit address says that a machine wrote it', async () => {
    const daemon = await world.daemon()
    await daemon.transport.send({
      key: 'n1',
      gateway: 'support',
      conversation: 'c',
      to: 'new@example.net',
      text: 'Hello\nyou',
    })
    const [read] = await readMails(world, 'new@example.net')
    assert.ok(read)
    assert.equal(header(read, 'auto-submitted'), 'auto-generated')
    assert.equal(read.subject, 'Hello')
    const bad = { key: 'n2', gateway: 'support', conversation: 'c', to: 'a@b.c, d@e.f', text: 'x' }
    await assert.rejects(daemon.transport.send(bad), code('send_rejected', false))
    await daemon.stop()
  })

  test('a send whose turn under the rate limit is not near is put off, and takes no place', async () => {
    const daemon = await world.daemon({ 'rate-limit': '2/10m', 'domain-rate-limit': '1/10m' })
    const send = (key: string, to: string) =>
      daemon.transport.send({ key, gateway: 'support', conversation: 'c', to, text: key })
    const isPostponed = (error: unknown) =>
      error instanceof SendPostponed && error.delay > 590_000 && error.delay <= 600_000
    await send('r1', 'slow@example.net')
    await assert.rejects(send('r2', 'slow@example.net'), isPostponed)
    await send('r3', 'slow@example.com')
    await assert.rejects(send('r4', 'slow@example.org'), isPostponed)
    await send('r1', 'slow@example.net')
    assert.equal(world.smtp.taken.length, 2)
    await daemon.stop()
  })

  test('sends whose turn is near wait for it', async () => {
    const daemon = await world.daemon({ 'rate-limit': '2/150ms' })
    const start = performance.now()
    for (const key of ['r1', 'r2', 'r3']) {
      await daemon.transport.send({
        key,
        gateway: 'support',
        conversation: 'c',
        to: 'slow@example.net',
        text: key,
      })
    }
    assert.ok(performance.now() - start >= 130)
    assert.equal(world.smtp.taken.length, 3)
    await daemon.stop()
  })
})
