import { after } from 'node:test'
import { ImapFlow } from 'imapflow'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import type { ReaderTiming } from '../../../transports/email/mailbox/reader.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createEmailTransport, type EmailOverrides } from '../../../transports/email/transport.ts'
import { type DovecotOptions, startDovecot } from '../../fixtures/dovecot.ts'
import type { MemoryStore } from '../../fixtures/memory-store.ts'
import { deliver, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

export type Daemon = Awaited<ReturnType<MailServer['daemon']>>

/** The options of a gateway in routes.yaml. */
export type Options = { address?: string; [option: string]: unknown }

export type DaemonOptions = {
  store?: MemoryStore
  now?: () => number
  overrides?: EmailOverrides
  start?: 'later'
  gateway?: string
  /** The port of IMAP, such as that of a relay. Default: the mail server's. */
  port?: number
}

const FAST: ReaderTiming = { lease: 600, retry: 20, maxRetry: 200 }

/** DNS without any names, so that tests do not use the network. */
const noDns = async () => {
  throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
}

/**
 * Starts a mail server. `daemon` stands for one daemon: a transport on a mailbox, with what it needs.
 * The server and the transports end after the test file or suite that calls this.
 */
export async function startMailServer(options: DovecotOptions = {}) {
  const dovecot = await startDovecot(options)
  const smtp = await startSmtpServer({ lmtpPort: dovecot.lmtpPort })
  const stops = new Set<() => Promise<void>>()
  /**
   * The time of the newest delivery, by mailbox. A transport treats mail of the second in which it
   * starts as new, so `daemon` waits for the second after the last delivery.
   */
  const delivered = new Map<string, number>()
  const secondOf = (time: number) => Math.floor(time / 1000)
  const as = inMailboxes(dovecot)
  after(async () => {
    await Promise.all([...stops].map((stop) => stop()))
    await smtp.close()
    await dovecot.close()
  })

  return {
    dovecot,
    smtp,
    /** Runs a function with an IMAP client on a mailbox. */
    as,
    /** Starts a transport on the mailbox `options.address` (`support@example.com`). */
    async daemon(options: Options = {}, more: DaemonOptions = {}) {
      const { gateway = 'support', port = dovecot.imapPort, store, now } = more
      const fixture = await startTransportFixture({ gateway, ...defined({ store, now }) })
      const transport = createEmailTransport(
        emailOptions.parse({
          ...serversOf(port, smtp.port, dovecot.password, options.address),
          ...options,
        }),
        fixture.deps,
        { resolver: noDns, timing: FAST, ...more.overrides },
      )
      const stop = async () => {
        if (!stops.delete(stop)) return
        await transport.stop()
        await transport.close()
        await fixture.close()
      }
      stops.add(stop)
      if (more.start !== 'later') {
        const user = options.address ?? 'support@example.com'
        await until(() => secondOf(Date.now()) > secondOf(delivered.get(user) ?? 0), 'the next second')
        await transport.start()
        await until(() => transport.health().detail?.startsWith('reading'), 'the first read of the mailbox')
        // Mail that is delivered after the cursor is stored is new. Some tests never store a cursor:
        // they go on after five seconds.
        const limit = Date.now() + 5000
        await until(async () => Date.now() > limit || (await cursorOf(fixture.store, gateway)), 'the cursor')
      }
      return {
        ...fixture,
        transport,
        /** Waits for the message with this index. */
        message: (index = 0) => until(() => fixture.store.messages[index], `message ${index}`),
        /** The texts of all messages, in order of acceptance. */
        texts: () => fixture.store.messages.map(({ text }) => text),
        stop,
      }
    },
    /** Delivers a mail to a mailbox, as the mail server would. */
    async deliver(raw: string | Buffer, to = 'support@example.com', from = 'anna@example.net') {
      await deliver(dovecot.lmtpPort, { from, to: [to], raw: Buffer.from(raw) })
      delivered.set(to, Date.now())
    },
    /** The mails in a folder, oldest first. */
    mailbox: (user: string, folder = 'INBOX') =>
      as(
        user,
        async (client) => {
          const mails = await client.fetchAll('1:*', { uid: true, source: true }, { uid: true })
          return mails.map(({ source }) => source?.toString() ?? '')
        },
        folder,
      ),
  }
}

/** Returns a function that runs `work` with an IMAP client on a mailbox of the server. */
export function inMailboxes(server: { imapPort: number; password: string }) {
  return async <T>(user: string, work: (client: ImapFlow) => Promise<T>, folder = 'INBOX'): Promise<T> => {
    const client = new ImapFlow({
      host: '127.0.0.1',
      port: server.imapPort,
      secure: false,
      doSTARTTLS: false,
      auth: { user, pass: server.password },
      logger: false,
      disableAutoIdle: true,
    })
    client.on('error', () => {})
    await client.connect()
    try {
      await client.mailboxOpen(folder)
      return await work(client)
    } finally {
      client.close()
    }
  }
}

/** The options of a mailbox on these servers, as in routes.yaml. */
export function serversOf(imapPort: number, smtpPort: number, pass: string, user = 'support@example.com') {
  return {
    address: user,
    imap: { host: '127.0.0.1', port: imapPort, tls: 'none', user, pass },
    smtp: { host: '127.0.0.1', port: smtpPort, tls: 'none' },
    authentication: 'off',
  }
}

/** A mail in the format of RFC 5322. */
export function mail(parts: {
  from?: string
  to?: string
  subject?: string
  id?: string
  text?: string
  headers?: Record<string, string>
}): string {
  const headers = {
    From: parts.from ?? 'Anna <anna@example.net>',
    To: parts.to ?? 'support@example.com',
    Subject: parts.subject ?? 'Help',
    Date: new Date().toUTCString(),
    ...(parts.id === '' ? {} : { 'Message-ID': `<${parts.id ?? `${crypto.randomUUID()}@example.net`}>` }),
    'MIME-Version': '1.0',
    'Content-Type': 'text/plain; charset=utf-8',
    ...parts.headers,
  }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return `${head.join('\r\n')}\r\n\r\n${(parts.text ?? 'My parcel is late.').replaceAll('\n', '\r\n')}\r\n`
}

/** The reply to a message, as the outbox creates it. */
export function replyTo(message: Message, text: string, key = `${message.id}:test:0`): Reply {
  const target = message.data.replyTarget
  if (!isJsonObject(target)) throw new Error('no reply target')
  return {
    key,
    gateway: message.gateway,
    conversation: message.conversation,
    target,
    text,
    inReplyTo: message.id,
  }
}

/** The stored state of a folder that a daemon reads. */
export async function cursorOf({ kv }: MemoryStore, gateway = 'support', folder = 'INBOX') {
  const value = (await kv.get(`email/${gateway}/cursor/${folder}`))?.value
  return isJsonObject(value) ? value : undefined
}

/** The mails in a mailbox, parsed. */
export async function readMails(mailServer: MailServer, user: string, folder = 'INBOX') {
  const raw = await mailServer.mailbox(user, folder)
  return Promise.all(raw.map((each) => parseMail(Buffer.from(each))))
}
