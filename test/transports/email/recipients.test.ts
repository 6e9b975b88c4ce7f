import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, beforeEach, describe, type TestContext, test } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { isJsonObject, pathGet } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { recipientsOf } from '../../../transports/email/outbound/recipients.ts'
import { childIndex, isThreadIndex } from '../../../transports/email/outbound/thread-index.ts'
import { markOf, messageIdOf } from '../../../transports/email/sent-log.ts'
import { type Daemon, mail, readMails, replyTo, startMailServer } from './harness.ts'

const mailServer = await startMailServer()
const daemon = await mailServer.daemon({ aliases: ['help@example.com'] })

/** Delivers a mail and resolves with its message. */
const receive = async (daemon: Daemon, raw: string): Promise<Message> => {
  const count = daemon.store.messages.length
  await mailServer.deliver(raw)
  return daemon.message(count)
}
const sendOf = (to: string | readonly string[], more: object = {}) => ({
  key: `k:${Math.random()}`,
  gateway: 'support',
  conversation: 'c',
  text: 'hello',
  subject: 'News',
  ...(typeof to === 'string' ? { to } : { to: to[0] ?? '', moreTo: to.slice(1) }),
  ...more,
})
const headerOf = (raw: Buffer | undefined, name: string) =>
  new RegExp(`^${name}: ((?:.|\\r\\n[ \\t])*)`, 'im').exec(String(raw))?.[1]?.replaceAll(/\s+/g, ' ')

// The tests share a mailbox and an SMTP server.
describe('mail between people', { concurrency: 1 }, () => {
  describe('a mail to several people', () => {
    beforeEach(() => {
      mailServer.smtp.taken.length = 0
    })

    test('reaches each of to, cc and bcc once, and names no blind copies', async () => {
      await daemon.transport.send(
        sendOf(['ada@example.net', 'bea@example.net'], {
          cc: ['cora@example.net', 'ADA@example.net'],
          bcc: ['dora@example.net', 'cora@example.net'],
        }),
      )
      const [sent] = mailServer.smtp.taken
      assert.deepEqual(
        sent?.to,
        ['ada', 'bea', 'cora', 'dora'].map((name) => `${name}@example.net`),
      )
      assert.equal(headerOf(sent?.raw, 'To'), 'ada@example.net, bea@example.net')
      assert.equal(headerOf(sent?.raw, 'Cc'), 'cora@example.net')
      assert.doesNotMatch(String(sent?.raw), /dora/)
    })

    test('leaves out own addresses', async () => {
      await daemon.transport.send(
        sendOf(['support@example.com', 'ada@example.net'], {
          cc: ['Help@example.com', 'support+x@example.com'],
        }),
      )
      assert.deepEqual(mailServer.smtp.taken[0]?.to, ['ada@example.net'])
    })

    test('reaches the mailbox without the tag of this gateway, which is somebody else', () => {
      const options = emailOptions.parse({
        address: 'anna+Bot@example.com',
        imap: { host: 'localhost' },
        smtp: { host: 'localhost' },
      })
      const reply = sendOf(['anna@example.com', 'Anna+bot@example.com'], { cc: ['anna+x@example.com'] })
      const { to, cc } = recipientsOf(reply, undefined, options)
      assert.deepEqual(
        [...to, ...cc].map(({ address }) => address),
        ['anna@example.com', 'anna+x@example.com'],
      )
    })

    test('is refused without recipients, with an invalid address, or with over 100 recipients', async () => {
      const many = Array.from({ length: 101 }, (_, index) => `a${index}@example.net`)
      for (const [to, more] of [
        [['support@example.com', 'help@example.com'], {}],
        [['ada@example.net', 'bea'], {}],
        ['ada@example.net, bea@example.net', {}],
        ['ada@example.net', { cc: ['Bea <bea@example.net>'] }],
        ['ada@example.net', { bcc: ['a@b@c'] }],
        ['ada@example.net', { cc: many }],
      ] as const)
        await assert.rejects(daemon.transport.send(sendOf(to, more)), { code: 'send_rejected' }, String(to))
    })

    /**
     * A daemon whose SMTP server refuses `gone@…`, and for now `full@…`; with the message that is
     * answered.
     */
    const startWithRefusals = async (t: TestContext) => {
      const state = { isFull: true, envelopes: [] as string[][] }
      const refusal = (code: number, text: string) => Object.assign(new Error(text), { responseCode: code })
      const server = new SMTPServer({
        disabledCommands: ['AUTH', 'STARTTLS'],
        onRcptTo({ address }, _session, done) {
          if (address.startsWith('gone')) return done(refusal(550, '5.1.1 no such user'))
          return address.startsWith('full') && state.isFull
            ? done(refusal(452, '4.2.2 mailbox full'))
            : done()
        },
        onData(stream, session, done) {
          state.envelopes.push(session.envelope.rcptTo.map(({ address }) => address))
          stream.resume().on('end', () => done())
        },
      })
      const inner = server.listen(0, '127.0.0.1')
      await once(inner, 'listening')
      const { port } = inner.address() as AddressInfo
      const one = await mailServer.daemon({ smtp: { host: '127.0.0.1', port, tls: 'none' } })
      t.after(async () => {
        await one.stop()
        await new Promise<void>((resolve) => server.close(() => resolve()))
      })
      const message = await receive(
        one,
        mail({ headers: { Cc: 'gone@example.net, full@example.net', To: 'support@example.com' } }),
      )
      return { one, state, reply: { ...replyTo(message, 'hello'), replyAll: true as const } }
    }

    test('records the outcome of each recipient, and is retried only for temporary failures', async (t) => {
      const { one, state, reply } = await startWithRefusals(t)
      await assert.rejects(one.transport.send(reply), (error: unknown) => {
        assert.ok(error instanceof Error && 'code' in error)
        assert.equal(error.code, 'send_failed')
        assert.match(error.message, /full@example\.net.*mailbox full/)
        return true
      })
      state.isFull = false
      const { data } = await one.transport.send(reply)
      assert.ok(isJsonObject(data) && isJsonObject(data.recipients))
      assert.match(String(data.recipients['gone@example.net']), /^refused: .*no such user/)
      assert.equal(data.recipients['anna@example.net'], 'sent')
      assert.equal(data.recipients['full@example.net'], 'sent')
      await one.transport.send(reply)
      assert.deepEqual(state.envelopes, [['anna@example.net'], ['full@example.net']])
      assert.deepEqual(
        one.notes.map(({ what }) => what),
        ['sent in part'],
      )
    })

    test('still reaches a waiting recipient after another one has answered it', async (t) => {
      const { one, state, reply } = await startWithRefusals(t)
      await assert.rejects(one.transport.send(reply))
      const id = messageIdOf(markOf('support', reply.key), 'support@example.com')
      await receive(one, mail({ headers: { 'In-Reply-To': id } }))
      assert.deepEqual(await one.transport.probe?.(reply), { sent: false })
      state.isFull = false
      await one.transport.send(reply)
      assert.deepEqual(state.envelopes, [['anna@example.net'], ['full@example.net']])
    })
  })

  describe('an answer to all', () => {
    beforeEach(() => {
      mailServer.smtp.taken.length = 0
    })
    const headers = {
      To: 'support@example.com, Bob <bob@example.org>',
      Cc: 'Carl <carl@example.org>, help@example.com, no-reply@example.org, anna@example.net',
    }

    test('goes to the sender and the other recipients, except for own addresses and robots', async () => {
      const message = await receive(daemon, mail({ headers }))
      await daemon.transport.send(replyTo(message, 'to one', 'k:one'))
      await daemon.transport.send({ ...replyTo(message, 'to all', 'k:all'), replyAll: true })
      const [one, all] = mailServer.smtp.taken
      assert.deepEqual(one?.to, ['anna@example.net'])
      assert.deepEqual(all?.to, ['anna@example.net', 'bob@example.org', 'carl@example.org'])
      assert.equal(headerOf(all?.raw, 'To'), 'Anna <anna@example.net>, Bob <bob@example.org>')
      assert.equal(headerOf(all?.raw, 'Cc'), 'Carl <carl@example.org>')
      const [read] = await readMails(mailServer, 'carl@example.org')
      assert.equal(read?.text.trim(), 'to all')
    })

    test('does not go to recipients who are not allowed senders', async () => {
      const strict = await mailServer.daemon({ 'allowed-senders': ['*@example.net'], authentication: 'off' })
      const message = await receive(strict, mail({ headers }))
      await strict.transport.send({ ...replyTo(message, 'to all'), replyAll: true })
      assert.deepEqual(mailServer.smtp.taken[0]?.to, ['anna@example.net'])
      await strict.stop()
    })
  })

  describe('the Thread-Index of Outlook', () => {
    const first = Buffer.concat([Buffer.from([1, 0xdc, 0x6b, 0x2a, 0x10, 0x40]), Buffer.alloc(16, 7)])

    test('is continued in answers to a first mail and to an answer', async () => {
      mailServer.smtp.taken.length = 0
      for (const index of [first, Buffer.concat([first, Buffer.alloc(5, 3)])]) {
        const parent = index.toString('base64')
        const raw = mail({
          subject: 'RE: Order',
          headers: { 'Thread-Index': parent, 'Thread-Topic': 'Order' },
        })
        const message = await receive(daemon, raw)
        assert.equal(pathGet(message.data, 'replyTarget.threadIndex'), parent)
        await daemon.transport.send(replyTo(message, 'hello', `k:${parent}`))
        const sent = mailServer.smtp.taken.at(-1)?.raw
        const child = headerOf(sent, 'Thread-Index') ?? ''
        assert.ok(isThreadIndex(child))
        const bytes = Buffer.from(child, 'base64')
        assert.equal(bytes.length, index.length + 5)
        assert.deepEqual(bytes.subarray(0, index.length), index)
        assert.equal(headerOf(sent, 'Thread-Topic'), 'Order')
      }
    })

    test('counts the time since the first mail in units of 26 ms, and of 0.8 s after 1.7 years', () => {
      /** The start of the index as a Windows FILETIME: units of 100 ns since 1601. */
      const began = BigInt(first.readUIntBE(0, 6)) << 16n
      const timeAfter = (ms: number) => Number((began - 116_444_736_000_000_000n) / 10_000n) + ms
      const unitsOf = (ms: number) =>
        Buffer.from(childIndex(first.toString('base64'), timeAfter(ms), 5), 'base64').readUInt32BE(22)
      assert.ok(Math.abs(unitsOf(60_000) - 600_000_000 / 2 ** 18) <= 1)
      const years = unitsOf(3 * 365 * 86_400_000)
      assert.equal(years >>> 31, 1)
      assert.ok(Math.abs((years & 0x7fffffff) - (3 * 365 * 86_400 * 1e7) / 2 ** 23) <= 1)
      assert.equal(unitsOf(-5000), 0)
    })

    test('is left out if the mail has none, or an invalid one', async () => {
      for (const index of [undefined, 'not base64', 'AQ==', `${first.toString('base64').slice(0, -4)}AAAA`]) {
        const headers = index === undefined ? {} : { 'Thread-Index': index }
        const message = await receive(daemon, mail({ headers }))
        mailServer.smtp.taken.length = 0
        await daemon.transport.send(replyTo(message, 'hello', `none:${index}`))
        const isKept = isThreadIndex(index)
        assert.equal(
          headerOf(mailServer.smtp.taken[0]?.raw, 'Thread-Index') !== undefined,
          isKept,
          String(index),
        )
      }
    })
  })
})

after(() => daemon.stop())
