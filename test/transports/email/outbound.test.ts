import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { beforeEach, describe, test } from 'node:test'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Message } from '../../../src/core/message.ts'
import { SendPostponed } from '../../../src/core/transport.ts'
import { header } from '../../../transports/email/mime/head.ts'
import { startDovecot } from '../../fixtures/dovecot.ts'
import { startSmtpServer } from '../../fixtures/smtp-server.ts'
import { until } from '../../fixtures/until.ts'
import { type Daemon, mail, readMails, replyTo, startMailServer } from './harness.ts'

const mailServer = await startMailServer()
const daemon = await mailServer.daemon()

describe('an email gateway', () => {
  beforeEach(() => {
    mailServer.smtp.taken.length = 0
    mailServer.smtp.misfortunes.length = 0
  })

  /** Delivers a mail and resolves with its message. */
  const receive = async (daemon: Daemon, raw: string): Promise<Message> => {
    const count = daemon.store.messages.length
    await mailServer.deliver(raw)
    return daemon.message(count)
  }
  const to = (address: string, key: string, text = key) => ({
    key,
    gateway: 'support',
    conversation: 'c',
    to: address,
    text,
  })
  const hasCode = (expected: string, retryable: boolean) => (error: unknown) => {
    assert.ok(error instanceof Error && 'code' in error && 'retryable' in error)
    assert.deepEqual([error.code, error.retryable], [expected, retryable], error.message)
    return true
  }

  test('accepts a mail, and its answer is a reply in the sender’s mailbox', async () => {
    const text = 'Where is it?\n\n-- \nAnna'
    const message = await receive(daemon, mail({ id: 'first@example.net', subject: 'Parcel', text }))
    const { address, name } = message.from
    assert.deepEqual([address, name, message.to], ['anna@example.net', 'Anna', 'support@example.com'])
    assert.deepEqual([message.text, message.subject], ['Where is it?', 'Parcel'])
    const receipt = await daemon.transport.send(replyTo(message, 'It is **on its way**.'))
    const [answer = ''] = await mailServer.mailbox('anna@example.net')
    for (const line of [
      /^From: support@example\.com/m,
      /^To: Anna <anna@example\.net>/m,
      /^Subject: Re: Parcel/m,
      /^In-Reply-To: <first@example\.net>/m,
      /^References: <first@example\.net>/m,
      /^Auto-Submitted: auto-replied/m,
      /^It is on its way\./m,
    ]) {
      assert.match(answer, line)
    }
    assert.ok(answer.includes(`Message-ID: ${receipt.id}`))
    assert.match(answer.replaceAll('=\r\n', ''), /<strong>on its way<\/strong>/)
  })

  test('puts the mails of a thread into one conversation, also an answer that refers only to the reply', async () => {
    const first = await receive(daemon, mail({ id: 't1@example.net', subject: 'Thread' }))
    const receipt = await daemon.transport.send(replyTo(first, 'answer'))
    const second = await receive(
      daemon,
      mail({ id: 't2@example.net', headers: { 'In-Reply-To': receipt.id } }),
    )
    const third = await receive(
      daemon,
      mail({ id: 't3@example.net', headers: { References: '<t2@example.net>' } }),
    )
    const bySubject = await receive(daemon, mail({ subject: 'Re: Thread' }))
    const other = await receive(daemon, mail({ subject: 'Thread' }))
    const stranger = await receive(daemon, mail({ subject: 'Re: Thread', from: 'eve@example.org' }))
    assert.deepEqual(
      [second, third, bySubject].map(({ conversation }) => conversation),
      [first, first, first].map(({ conversation }) => conversation),
    )
    assert.notEqual(other.conversation, first.conversation)
    assert.notEqual(stranger.conversation, first.conversation)
  })

  test('sends a reply to the Reply-To of the mail, whatever address or headers a skill sets', async () => {
    const daemon = await mailServer.daemon({ 'reply-to': 'desk@example.com', name: 'Support' })
    const message = await receive(
      daemon,
      mail({ headers: { 'Reply-To': 'Anna at home <home@example.net>' } }),
    )
    await daemon.transport.send({
      ...replyTo(message, 'hello'),
      subject: 'Hi\r\nBcc: evil@example.org',
      data: { to: 'evil@example.org' },
    })
    const [sent] = mailServer.smtp.taken
    assert.deepEqual(sent?.to, ['home@example.net'])
    assert.doesNotMatch(sent?.raw.toString() ?? '', /^Bcc/m)
    const [read] = await readMails(mailServer, 'home@example.net')
    assert.equal(read?.subject, 'Hi Bcc: evil@example.org')
    assert.equal(read?.replyTo[0]?.address, 'desk@example.com')
    assert.deepEqual(read?.from, [{ name: 'Support', address: 'support@example.com' }])
  })

  test('sends attachments unchanged, and closes their files', async () => {
    const daemon = await mailServer.daemon({ sent: { folder: 'Sent', copy: 'server' } })
    const message = await receive(daemon, mail({ from: 'files@example.net' }))
    const bytes = Buffer.from([0, 1, 2, 250, 251, 13, 10, 46, 13, 10])
    const file = await daemon.deps.artifacts.save(
      'räkning.bin',
      'application/x-bill',
      Readable.from([bytes]),
      100,
    )
    const { artifacts } = daemon.deps
    const { open } = artifacts
    const opened: Readable[] = []
    artifacts.open = async (sha256) => {
      const stream = await open(sha256)
      opened.push(stream)
      return stream
    }
    const reply = { ...replyTo(message, 'here'), attachments: [file] }
    for (const code of [452, 552]) {
      mailServer.smtp.misfortunes.push({ kind: 'refuse', code, text: 'no' })
      await assert.rejects(daemon.transport.send(reply))
    }
    await daemon.transport.send(reply)
    await until(() => opened.every(({ closed }) => closed), 'the end of each file')
    const [read] = await readMails(mailServer, 'files@example.net')
    assert.equal(read?.parts[0]?.name, 'räkning.bin')
    assert.equal(read?.parts[0]?.type, 'application/x-bill')
    assert.deepEqual(Buffer.from(read?.parts[0]?.content ?? []), bytes)
  })

  test('retries after a 4xx answer or without a server, but not after a 5xx answer', async () => {
    const message = await receive(daemon, mail({}))
    const reply = replyTo(message, 'x')
    mailServer.smtp.misfortunes.push({ kind: 'refuse', code: 452, text: '4.2.2 mailbox full' })
    await assert.rejects(daemon.transport.send(reply), hasCode('send_failed', true))
    mailServer.smtp.misfortunes.push({ kind: 'refuse', code: 552, text: '5.2.2 mailbox full' })
    await assert.rejects(daemon.transport.send(reply), hasCode('send_rejected', false))
    mailServer.smtp.misfortunes.push({ kind: 'cut-in-data' })
    await assert.rejects(daemon.transport.send(reply), (error: unknown) => {
      assert.ok(error instanceof Error && 'retryable' in error)
      return error.retryable === true
    })
    const withoutServer = await mailServer.daemon(
      { smtp: { host: '127.0.0.1', port: 1, tls: 'none' } },
      { start: 'later' },
    )
    await assert.rejects(withoutServer.transport.send(reply), hasCode('send_failed', true))
  })

  test('retries after a wrong SMTP password, which the operator can correct', async () => {
    const strict = await startSmtpServer({ login: { user: 'support', pass: 'right' } })
    const daemon = await mailServer.daemon({
      smtp: { host: '127.0.0.1', port: strict.port, tls: 'none', user: 'support', pass: 'wrong' },
    })
    const message = await receive(daemon, mail({}))
    await assert.rejects(daemon.transport.send(replyTo(message, 'x')), hasCode('send_failed', true))
    await daemon.stop()
    await strict.close()
  })

  test('treats a connection that broke after DATA as ambiguous', async () => {
    const message = await receive(daemon, mail({}))
    const reply = replyTo(message, 'only once')
    mailServer.smtp.misfortunes.push({ kind: 'cut-after-data' })
    await assert.rejects(daemon.transport.send(reply), hasCode('send_ambiguous', true))
    assert.equal(mailServer.smtp.taken.length, 1)
    assert.equal((await daemon.transport.probe?.(reply))?.sent, 'unknown')
    // A later retry by an operator is the same mail for the recipient.
    const nextSecond = Math.ceil((Date.now() + 1) / 1000) * 1000
    await until(() => Date.now() > nextSecond, 'another second on the clock')
    await daemon.transport.send(reply)
    const idAndDate = ({ raw }: { raw: Buffer }) => /^(Message-ID|Date): .*$/gim[Symbol.match](String(raw))
    const [once, again] = mailServer.smtp.taken.map(idAndDate)
    assert.equal(once?.length, 2)
    assert.deepEqual(again, once)
  })

  test('reports a mail as sent although the store failed just after it', async (t) => {
    const reply = replyTo(await receive(daemon, mail({})), 'only once')
    const { kv } = daemon.store
    const { set } = kv
    t.after(() => {
      kv.set = set
    })
    kv.set = async (key, value, options) => {
      if (Object(value).state === 'sent')
        throw new TriviumError('store_unavailable', { store: 'test', reason: 'away' })
      return set(key, value, options)
    }
    const receipt = await daemon.transport.send(reply)
    assert.match(receipt.id, /^<trivium\./)
    assert.equal((await daemon.transport.probe?.(reply))?.sent, 'unknown')
  })

  test('knows that an ambiguous mail arrived when it is answered', async () => {
    const reply = replyTo(await receive(daemon, mail({})), 'did it arrive?')
    mailServer.smtp.misfortunes.push({ kind: 'cut-after-data' })
    await assert.rejects(daemon.transport.send(reply), hasCode('send_ambiguous', true))
    const [, id = ''] = /^Message-ID: (.*)$/im.exec(String(mailServer.smtp.taken[0]?.raw)) ?? []
    await receive(daemon, mail({ headers: { 'In-Reply-To': id } }))
    assert.equal((await daemon.transport.probe?.(reply))?.sent, true)
  })

  test('finds an ambiguous mail in the Sent folder', async () => {
    const daemon = await mailServer.daemon({ sent: { folder: 'Sent', copy: 'server' } })
    const message = await receive(daemon, mail({}))
    const lost = replyTo(message, 'lost', 'k:lost')
    const arrived = replyTo(message, 'arrived', 'k:arrived')
    for (const reply of [lost, arrived]) {
      mailServer.smtp.misfortunes.push({ kind: 'cut-after-data' })
      await assert.rejects(daemon.transport.send(reply), hasCode('send_ambiguous', true))
    }
    const copy = mailServer.smtp.taken[1]?.raw ?? Buffer.alloc(0)
    await mailServer.as('support@example.com', (client) => client.append('Sent', copy))
    assert.deepEqual(await daemon.transport.probe?.(lost), { sent: false })
    assert.equal((await daemon.transport.probe?.(arrived))?.sent, true)
    assert.deepEqual(await daemon.transport.probe?.(replyTo(message, 'never begun', 'k:none')), {
      sent: false,
    })
  })

  test('turns health red, with the reason, from a failed mail until one is sent', async () => {
    mailServer.smtp.misfortunes.push({ kind: 'cut-in-data' })
    const daemon = await mailServer.daemon()
    const send = () => daemon.transport.send(to('down@example.net', 'h1'))
    await assert.rejects(send(), hasCode('send_failed', true))
    const { ok, detail } = daemon.transport.health()
    assert.deepEqual([ok, /mail cannot be sent: .+/.test(detail ?? '')], [false, true])
    await send()
    assert.equal(daemon.transport.health().ok, true)
  })

  test('logs a copy that exceeds the quota, and does not send the mail again', async () => {
    const full = await startDovecot({
      config:
        'mail_plugins = quota\nplugin {\n quota = count:User\n quota_vsizes = yes\n quota_rule = *:storage=2K\n quota_grace = 0\n}',
    })
    const limited = await mailServer.daemon({ sent: { folder: 'Sent' } }, { port: full.imapPort })
    const reply = to('quota@example.net', 'q1', 'a long answer '.repeat(300))
    const { id } = await limited.transport.send(reply)
    assert.ok(
      limited.logs.some(({ level, fields }) => level === 'error' && /quota/i.test(JSON.stringify(fields))),
    )
    assert.equal((await limited.transport.send(reply)).id, id)
    assert.equal(mailServer.smtp.taken.length, 1)
    await limited.stop()
    await full.close()
  })

  test('marks mail to an explicit address as automatic', async () => {
    await daemon.transport.send(to('new@example.net', 'n1', 'Hello\nyou'))
    const [read] = await readMails(mailServer, 'new@example.net')
    assert.ok(read)
    assert.equal(header(read, 'auto-submitted'), 'auto-generated')
    assert.equal(read.subject, 'Hello')
    await assert.rejects(daemon.transport.send(to('a@b.c, d@e.f', 'n2')), hasCode('send_rejected', false))
  })

  test('postpones a send over the rate limit; a postponed or repeated send does not count', async () => {
    const daemon = await mailServer.daemon({ 'rate-limit': '2/10m' })
    const send = (key: string) => daemon.transport.send(to('slow@example.net', key))
    const isPostponed = (error: unknown) =>
      error instanceof SendPostponed && error.delay > 290_000 && error.delay <= 300_000
    await send('r1')
    await send('r2')
    for (const key of ['r3', 'r4']) await assert.rejects(send(key), isPostponed)
    await send('r1')
    assert.equal(mailServer.smtp.taken.length, 2)
  })
})
