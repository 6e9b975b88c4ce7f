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
import { type Daemon, mail, readMails, replyTo, startWorld } from './harness.ts'

const world = await startWorld()
const daemon = await world.daemon()

describe('answering by mail', () => {
  beforeEach(() => {
    world.smtp.taken.length = 0
    world.smtp.next.length = 0
  })

  const received = async (on: Daemon, raw: string): Promise<Message> => {
    const count = on.store.messages.length
    await world.deliver(raw)
    return on.message(count)
  }
  const to = (address: string, key: string, text = key) => ({
    ...{ key, gateway: 'support', conversation: 'c', to: address, text },
  })
  const code = (expected: string, retryable: boolean) => (error: unknown) => {
    assert.ok(error instanceof Error && 'code' in error && 'retryable' in error)
    assert.deepEqual([error.code, error.retryable], [expected, retryable], error.message)
    return true
  }

  test('a mail that arrives is accepted, and its answer reads as a reply in the sender’s mailbox', async () => {
    const text = 'Where is it?\n\n-- \nAnna'
    const message = await received(daemon, mail({ id: 'first@example.net', subject: 'Parcel', text }))
    const { address, name } = message.from
    assert.deepEqual([address, name, message.to], ['anna@example.net', 'Anna', 'support@example.com'])
    assert.deepEqual([message.text, message.subject], ['Where is it?', 'Parcel'])
    const receipt = await daemon.transport.send(replyTo(message, 'It is **on its way**.'))
    const [answer = ''] = await world.mailbox('anna@example.net')
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

  test('mails of one thread are one conversation, also an answer to our answer that names only it', async () => {
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
  })

  test('attachments arrive as they were, and no file stays open', async () => {
    const daemon = await world.daemon({ sent: { folder: 'Sent', copy: 'server' } })
    const message = await received(daemon, mail({ from: 'files@example.net' }))
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
      world.smtp.next.push({ kind: 'refuse', code, text: 'no' })
      await assert.rejects(daemon.transport.send(reply))
    }
    await daemon.transport.send(reply)
    await until(() => opened.every(({ closed }) => closed), 'the end of each file')
    const [read] = await readMails(world, 'files@example.net')
    assert.equal(read?.parts[0]?.name, 'räkning.bin')
    assert.equal(read?.parts[0]?.type, 'application/x-bill')
    assert.deepEqual(Buffer.from(read?.parts[0]?.content ?? []), bytes)
  })

  test('4xx is tried again, 5xx is for good, and a server that is away is tried again', async () => {
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
    const message = await received(daemon, mail({}))
    const reply = replyTo(message, 'only once')
    world.smtp.next.push({ kind: 'cut-after-data' })
    await assert.rejects(daemon.transport.send(reply), code('send_ambiguous', true))
    assert.equal(world.smtp.taken.length, 1)
    const found = async () => (await daemon.transport.probe?.(reply))?.sent
    assert.equal(await found(), 'unknown')
    // Sent again all the same, by hand and later, it is the same mail to whoever got it.
    const nextSecond = Math.ceil((Date.now() + 1) / 1000) * 1000
    await until(() => Date.now() > nextSecond, 'another second on the clock')
    await daemon.transport.send(reply)
    const idAndDate = ({ raw }: { raw: Buffer }) => /^(Message-ID|Date): .*$/gim[Symbol.match](String(raw))
    const [once, again] = world.smtp.taken.map(idAndDate)
    assert.equal(once?.length, 2)
    assert.deepEqual(again, once)
  })

  test('a mail that went out just when the store is away has been sent', async (t) => {
    const reply = replyTo(await received(daemon, mail({})), 'only once')
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

  test('a send that was cut off is known to have arrived once somebody answers it', async () => {
    const reply = replyTo(await received(daemon, mail({})), 'did it arrive?')
    world.smtp.next.push({ kind: 'cut-after-data' })
    await assert.rejects(daemon.transport.send(reply), code('send_ambiguous', true))
    const [, id = ''] = /^Message-ID: (.*)$/im.exec(String(world.smtp.taken[0]?.raw)) ?? []
    await received(daemon, mail({ headers: { 'In-Reply-To': id } }))
    assert.equal((await daemon.transport.probe?.(reply))?.sent, true)
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
  })

  test('a server that is down makes health red, with the reason, until a mail goes out', async () => {
    world.smtp.next.push({ kind: 'cut-in-data' })
    const daemon = await world.daemon()
    const send = () => daemon.transport.send(to('down@example.net', 'h1'))
    await assert.rejects(send(), code('send_failed', true))
    const { ok, detail } = daemon.transport.health()
    assert.deepEqual([ok, /mail cannot be sent: .+/.test(detail ?? '')], [false, true])
    await send()
    assert.equal(daemon.transport.health().ok, true)
  })

  test('a copy for which the quota leaves no room is told of, and the mail is not sent again for it', async () => {
    const full = await startDovecot({
      config:
        'mail_plugins = quota\nplugin {\n quota = count:User\n quota_vsizes = yes\n quota_rule = *:storage=2K\n quota_grace = 0\n}',
    })
    const limited = await world.daemon({ sent: { folder: 'Sent' } }, { port: full.imapPort })
    const reply = to('quota@example.net', 'q1', 'a long answer '.repeat(300))
    const { id } = await limited.transport.send(reply)
    assert.ok(
      limited.logs.some(({ level, fields }) => level === 'error' && /quota/i.test(JSON.stringify(fields))),
    )
    assert.equal((await limited.transport.send(reply)).id, id)
    assert.equal(world.smtp.taken.length, 1)
    await limited.stop()
    await full.close()
  })

  test('mail to an explicit address says that a machine wrote it', async () => {
    await daemon.transport.send(to('new@example.net', 'n1', 'Hello\nyou'))
    const [read] = await readMails(world, 'new@example.net')
    assert.ok(read)
    assert.equal(header(read, 'auto-submitted'), 'auto-generated')
    assert.equal(read.subject, 'Hello')
    await assert.rejects(daemon.transport.send(to('a@b.c, d@e.f', 'n2')), code('send_rejected', false))
  })

  test('a send whose turn under the rate limit has not come is put off, and takes no place', async () => {
    const daemon = await world.daemon({ 'rate-limit': '2/10m' })
    const send = (key: string) => daemon.transport.send(to('slow@example.net', key))
    const isPostponed = (error: unknown) =>
      error instanceof SendPostponed && error.delay > 290_000 && error.delay <= 300_000
    await send('r1')
    await send('r2')
    for (const key of ['r3', 'r4']) await assert.rejects(send(key), isPostponed)
    await send('r1')
    assert.equal(world.smtp.taken.length, 2)
  })
})
