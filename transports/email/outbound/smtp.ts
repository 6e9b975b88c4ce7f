import { Readable } from 'node:stream'
import nodemailer, { type SendMailOptions } from 'nodemailer'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { reach, withTlsAdvice } from '../mailbox/imap-connection.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'
import { createSmtpSockets, SMTP_TIMING, type SmtpTiming } from './smtp-socket.ts'
import type { Submission, Taken } from './submission.ts'

/** A connection pool to the SMTP server, opened by the first send. */
export function createSmtp(
  gateway: string,
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timing: SmtpTiming = SMTP_TIMING,
): Submission {
  /** Callbacks by Message-ID, to be awaited before the server gets the end of a mail. */
  const endings = new Map<string, () => Promise<void>>()
  /** Number of mails and logins in progress, and of mails completely sent. */
  let [busy, whole] = [0, 0]
  const sockets = createSmtpSockets(timing, () => (busy === 0 ? 'nothing' : whole > 0 ? 'end' : 'step'))
  let pool: ReturnType<typeof createPool> | undefined

  const open = () => {
    pool ??= createPool(server, tokens, endings, sockets.open, timing)
    return pool
  }

  const during = async <T>(work: () => Promise<T>): Promise<T> => {
    busy++
    try {
      return await work()
    } finally {
      busy--
    }
  }

  /** Retries once with a fresh token, because some servers refuse a token without asking for another. */
  const withFreshToken = async <T>(work: () => Promise<T>, mayRepeat = true): Promise<T> => {
    try {
      return await during(work)
    } catch (error) {
      const { code, responseCode } = details.parse(error)
      if (!tokens || code !== 'EAUTH' || !responseCode) throw error
      await tokens('renew').catch(() => Promise.reject(error))
      if (!mayRepeat) throw error
      return await during(work)
    }
  }

  return {
    name: server.host,
    isApi: false,
    repeatable: 0,
    async send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>): Promise<Taken> {
      let isWhole = false
      endings.set(mail.messageId ?? '', async () => {
        await beforeEnd?.()
        isWhole = true
        whole++
      })
      try {
        const { response = '', rejectedErrors = [] } = await withFreshToken(
          () => open().sendMail(mail),
          // Attachments are streams that the first attempt may have consumed; the outbox opens them again.
          !mail.attachments?.length,
        )
        return { response, refused: rejectedErrors.flatMap(refusalOf) }
      } catch (error) {
        throw failure(gateway, key, error, isWhole)
      } finally {
        if (isWhole) whole--
        endings.delete(mail.messageId ?? '')
      }
    },
    /** Connects and logs in. Rejects on failure. */
    verify: () =>
      withFreshToken(() => open().verify()).catch((error) => Promise.reject(explained(withTlsAdvice(error)))),
    /** How long (ms) the server has owed a response; 0 if none is due. */
    silence: sockets.longestSilence,
    close() {
      pool?.close()
      sockets.close()
    },
  }
}

function refusalOf(error: unknown): Taken['refused'] {
  const { recipient } = z.object({ recipient: z.string() }).partial().catch({}).parse(error)
  const { responseCode = 0 } = details.parse(error)
  return recipient === undefined
    ? []
    : [{ address: recipient, reason: reasonOf(error), isPermanent: responseCode >= 500 }]
}

function createPool(
  server: ServerOptions,
  tokens: TokenSource | undefined,
  endings: ReadonlyMap<string, () => Promise<void>>,
  openSocket: ReturnType<typeof createSmtpSockets>['open'],
  timing: SmtpTiming,
) {
  const { user, pass = '' } = server
  const { mode, ...address } = reach(465, server)
  const transporter = nodemailer.createTransport({
    pool: true,
    ...address,
    requireTLS: mode === 'starttls',
    ignoreTLS: mode === 'none',
    ...(user ? { auth: tokens ? { type: 'OAuth2' as const, user } : { user, pass } } : {}),
    maxConnections: 3,
    // A mail may have arrived even if its connection died, so requeueing is not left to the library.
    maxRequeues: 0,
    // Longer than the sockets' own limits.
    greetingTimeout: 2 * timing.step,
    getSocket: (_: unknown, done: Parameters<typeof openSocket>[2]) =>
      openSocket(address.host, address.port, done),
  })
  if (tokens) {
    transporter.set('oauth2_provision_cb', (_user, renew, done) => {
      tokens(renew ? 'renew' : 'at-hand').then(
        (token) => done(null, token),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      )
    })
  }
  transporter.use('stream', (mail, done) => {
    // The SMTP connection reads the mail after the server's 354. After its end it sends the final dot, and from then on the
    // server may have the mail, regardless of its response.
    const ending = endings.get(mail.data.messageId ?? '')
    const ended = async function* (source: AsyncIterable<Buffer>) {
      yield* source
      await ending?.()
    }
    mail.message.processFunc((source) => Readable.from(ended(source), { objectMode: false }))
    done()
  })
  return transporter
}

function failure(gateway: string, key: string, error: unknown, isWhole: boolean): TriviumError {
  const { responseCode } = details.parse(error)
  const reason = reasonOf(explained(withTlsAdvice(error)))
  const cause = { cause: error }
  if (responseCode === undefined && isWhole) {
    return new TriviumError('send_ambiguous', { gateway, key, reason }, cause)
  }
  return new TriviumError(isAboutMail(error) ? 'send_rejected' : 'send_failed', { gateway, reason }, cause)
}

/** Authentication or TLS is required, or the login failed (RFC 4954), in response to any command. */
const LOGIN_CODES = new Set([530, 534, 535, 538])
/**
 * Refusals of the client or sender, which some servers return for RCPT TO, and Exchange after DATA.
 */
const ABOUT_SENDER =
  /sender address|client host|helo command|not owned by user|authentication (?:is )?required|send as|sendasdenied/i
const TOO_BIG = /\b5\.3\.4\b|size/i

/**
 * Whether the server permanently refused this mail (recipient, content or size), and not the session or account, which the operator has
 * to fix while all mails wait.
 */
function isAboutMail(error: unknown): boolean {
  const { responseCode, code, command = '' } = details.parse(error)
  // nodemailer found no recipient, an invalid address, or a mail over the server's size limit.
  if (responseCode === undefined) return (code === 'EENVELOPE' && command === 'API') || code === 'EMESSAGE'
  if (responseCode < 500 || LOGIN_CODES.has(responseCode)) return false
  const said = reasonOf(error)
  if (command === 'RCPT TO' || command === 'DATA') return !ABOUT_SENDER.test(said)
  return command === 'MAIL FROM' && responseCode === 552 && TOO_BIG.test(said)
}

const STEPS: Record<string, string> = {
  CONN: 'on connecting',
  STARTTLS: 'at STARTTLS',
  'MAIL FROM': 'for the sender (MAIL FROM): check `address` and whether this login may send as it',
}

/** Adds the step of the session to an error. */
function explained<T>(error: T): T {
  if (!(error instanceof Error)) return error
  const { command = '', responseCode } = details.parse(error)
  const step = command.startsWith('AUTH') ? 'at the login' : STEPS[command]
  if (responseCode !== undefined && step && !error.message.includes(step))
    error.message = `${error.message} (${step})`
  return error
}

/** Properties of nodemailer's errors. */
const details = z
  .object({ responseCode: z.number(), code: z.string(), command: z.string() })
  .partial()
  .catch({})
