import { Readable } from 'node:stream'
import nodemailer, { type SendMailOptions } from 'nodemailer'
import { endpointOf } from '../mailbox/imap-connection.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'
import { type Awaited, createSmtpSockets, type SmtpTiming } from './smtp-socket.ts'

const SMTPS_PORT = 465

/**
 * A connection to the SMTP server for one mail at a time. It opens with the first mail, and closes
 * when it was idle for some minutes.
 */
export function createSmtpConnection(
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timing: SmtpTiming,
) {
  let awaited: Awaited = 'nothing'
  /** Called when the server has the mail except for its end. */
  let beforeEnd: (() => Promise<void>) | undefined
  const sockets = createSmtpSockets(timing, () => awaited)
  const transporter = createTransporter(server, timing, sockets.open)
  if (tokens) provideTokens(transporter, tokens)
  transporter.use('stream', (mail, done) => {
    // The SMTP connection reads the mail after the server's 354. At its end, it sends the final
    // dot; from then on the server may have the mail, whatever it responds.
    const withCallback = async function* (source: AsyncIterable<Buffer>) {
      yield* source
      await beforeEnd?.()
      awaited = 'end'
    }
    mail.message.processFunc((source) => Readable.from(withCallback(source), { objectMode: false }))
    done()
  })

  const whileAwaiting = async <T>(work: () => Promise<T>): Promise<T> => {
    awaited = 'step'
    try {
      return await work()
    } finally {
      awaited = 'nothing'
    }
  }

  return {
    /** Calls `atEnd` just before the mail is complete, and does not complete it if that rejects. */
    send(mail: SendMailOptions, atEnd: () => Promise<void>) {
      beforeEnd = atEnd
      return whileAwaiting(() => transporter.sendMail(mail))
    },
    /** Connects and logs in. */
    verify: () => whileAwaiting(() => transporter.verify()),
    silence: sockets.longestSilence,
    close(): void {
      transporter.close()
      sockets.close()
    },
  }
}

function createTransporter(
  server: ServerOptions,
  timing: SmtpTiming,
  openSocket: ReturnType<typeof createSmtpSockets>['open'],
) {
  const { user, pass = '' } = server
  const { mode, ...address } = endpointOf(SMTPS_PORT, server)
  return nodemailer.createTransport({
    // Keeps the connection between mails.
    pool: true,
    maxConnections: 1,
    ...address,
    requireTLS: mode === 'starttls',
    ignoreTLS: mode === 'none',
    ...(user ? { auth: server.oauth2 ? { type: 'OAuth2' as const, user } : { user, pass } } : {}),
    // A mail may have arrived even if its connection died, so the library must not send it again.
    maxRequeues: 0,
    // Longer than the limits of the sockets, which apply first.
    greetingTimeout: 2 * timing.step,
    getSocket: (_: unknown, done: Parameters<typeof openSocket>[2]) =>
      openSocket(address.host, address.port, done),
  })
}

function provideTokens(transporter: ReturnType<typeof createTransporter>, tokens: TokenSource): void {
  transporter.set('oauth2_provision_cb', (_user, renew, done) => {
    tokens(renew ? 'renew' : 'cached').then(
      (token) => done(null, token),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    )
  })
}
