import { after } from 'node:test'
import { ImapFlow } from 'imapflow'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { Reply, Transport } from '../../../src/core/transport.ts'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import type { ReaderTiming } from '../../../transports/email/mailbox/reader.ts'
import { emailOptions } from '../../../transports/email/options.ts'
import { createEmailTransport, type EmailWorld } from '../../../transports/email/transport.ts'
import { type Dovecot, type DovecotOptions, startDovecot } from '../../fixtures/dovecot.ts'
import type { MemoryStore } from '../../fixtures/memory-store.ts'
import { deliver, type SmtpFixture, startSmtpServer } from '../../fixtures/smtp-server.ts'
import { startTransportFixture, type TransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'

/** A mail server, and daemons that work on its mailboxes. */
export type World = {
  dovecot: Dovecot
  smtp: SmtpFixture
  /** Starts a transport on the mailbox `options.address` (`support@example.com`). `options` are as in routes.yaml. */
  daemon(options?: Options, more?: DaemonOptions): Promise<Daemon>
  /** Delivers a mail to a mailbox, as the mail server would. */
  deliver(raw: string | Buffer, to?: string, from?: string): Promise<void>
  /** The mails in a folder, oldest first. */
  mailbox(user: string, folder?: string): Promise<string[]>
  /** Does something in a mailbox with a client of its own. */
  as<T>(user: string, work: (client: ImapFlow) => Promise<T>, folder?: string): Promise<T>
  close(): Promise<void>
}

export type Options = { address?: string; [option: string]: unknown }

export type Daemon = TransportFixture & {
  transport: Transport
  /** The message that was accepted at this place (from 0), as soon as it is there. */
  message(at?: number): Promise<Message>
  /** The texts of all messages, in the order in which they were accepted. */
  texts(): string[]
  stop(): Promise<void>
}

export type DaemonOptions = {
  store?: MemoryStore
  now?: () => number
  world?: EmailWorld
  start?: 'later'
  gateway?: string
  /** Where the IMAP server is reached; a relay in front of it. */
  port?: number
}

const FAST: ReaderTiming = { lease: 600, retry: 20, maxRetry: 200 }

/** DNS that knows nothing, so that no test asks the network. */
const noDns = async () => {
  throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
}

/** Starts the servers. They end, and all daemons on them, with the test file or the suite that called this. */
export async function startWorld(options: DovecotOptions = {}): Promise<World> {
  const dovecot = await startDovecot(options)
  const smtp = await startSmtpServer({ lmtpPort: dovecot.lmtpPort })
  const daemons = new Set<Daemon>()
  /** What comes in the second of a start is new. */
  const delivered = new Map<string, number>()
  const secondOf = (time: number) => Math.floor(time / 1000)

  const as = inMailboxes(dovecot)

  const world: World = {
    dovecot,
    smtp,
    as,
    async daemon(options = {}, more = {}) {
      const fixture = await startTransportFixture({
        gateway: more.gateway ?? 'support',
        ...(more.store ? { store: more.store } : {}),
        ...(more.now ? { now: more.now } : {}),
      })
      const transport = createEmailTransport(
        emailOptions.parse({
          ...serversOf(more.port ?? dovecot.imapPort, smtp.port, dovecot.password, options.address),
          ...options,
        }),
        fixture.deps,
        { resolver: noDns, timing: FAST, ...more.world },
      )
      const daemon: Daemon = {
        ...fixture,
        transport,
        message: (at = 0) => until(() => fixture.store.messages[at], `message ${at}`, 30_000),
        texts: () => fixture.store.messages.map(({ text }) => text),
        async stop() {
          if (!daemons.delete(daemon)) return
          await transport.stop()
          await transport.close()
          await fixture.close()
        },
      }
      daemons.add(daemon)
      if (more.start !== 'later') {
        const user = options.address ?? 'support@example.com'
        await until(() => secondOf(Date.now()) > secondOf(delivered.get(user) ?? 0), 'the next second')
        await transport.start()
        await until(() => transport.health().detail?.startsWith('reading'), 'the mailbox to be read')
        await caughtUp(daemon)
      }
      return daemon
    },
    async deliver(raw, to = 'support@example.com', from = 'anna@example.net') {
      await deliver(dovecot.lmtpPort, { from, to: [to], raw: Buffer.from(raw) })
      delivered.set(to, Date.now())
    },
    mailbox: (user, folder = 'INBOX') =>
      as(
        user,
        async (client) => {
          const mails = await client.fetchAll('1:*', { uid: true, source: true }, { uid: true })
          return mails.map(({ source }) => source?.toString() ?? '')
        },
        folder,
      ),
    async close() {
      await Promise.all([...daemons].map((daemon) => daemon.stop()))
      await smtp.close()
      await dovecot.close()
    },
  }
  after(() => world.close())
  return world
}

/** Makes the function that works in the mailboxes of a server. */
export function inMailboxes(server: { imapPort: number; password: string }): World['as'] {
  return async (user, work, folder = 'INBOX') => {
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

/** Waits until the first look at the mailbox is over, so that what is delivered next is new. */
async function caughtUp(daemon: Daemon): Promise<void> {
  await until(() => cursorOf(daemon.store, daemon.deps.gateway), 'the cursor', 5000).catch(() => undefined)
}

/** A mail in the form of RFC 5322. */
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

/** The reply to a message, as the outbox makes it. */
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

/** What the store knows of the folder that a daemon reads. */
export async function cursorOf({ kv }: MemoryStore, gateway = 'support', folder = 'INBOX') {
  const value = (await kv.get(`email/${gateway}/cursor/${folder}`))?.value
  return isJsonObject(value) ? value : undefined
}

/** The mails in a mailbox, parsed. */
export async function readMails(world: World, user: string, folder = 'INBOX') {
  const raw = await world.mailbox(user, folder)
  return Promise.all(raw.map((each) => parseMail(Buffer.from(each))))
}
