import { Readable } from 'node:stream'
import nodemailer, { type SendMailOptions } from 'nodemailer'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { endpointOf, withTlsAdvice } from '../mailbox/imap-connection.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'
import { createSmtpSockets, SMTP_TIMING, type SmtpTiming } from './smtp-socket.ts'
import type { Submission, SubmissionResult } from './submission.ts'

const SMTPS_PORT = 465
const MAX_CONNECTIONS = 3

/** A connection pool to the SMTP server, opened by the first send. */
export function createSmtp(
  gateway: string,
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timing: SmtpTiming = SMTP_TIMING,
): Submission {
  /** Callbacks by Message-ID, to be awaited before the server gets the end of a mail. */
  const endings = new Map<string, () => Promise<void>>()
  /** Number of mails and logins in progress. */
  let busy = 0
  /** Number of mails that were sent completely and have no response yet. */
  let complete = 0
  const awaited = () => {
    if (busy === 0) return 'nothing'
    return complete > 0 ? 'end' : 'step'
  }
  const sockets = createSmtpSockets(timing, awaited)
  let pool: ReturnType<typeof createPool> | undefined

  const open = () => {
    pool ??= createPool(server, tokens, endings, sockets.open, timing)
    return pool
  }

  const whileBusy = async <T>(work: () => Promise<T>): Promise<T> => {
    busy++
    try {
      return await work()
    } finally {
      busy--
    }
  }

  /** Retries once with a new token after a failed login, because some servers do not ask for one. */
  const withNewToken = async <T>(work: () => Promise<T>, mayRepeat = true): Promise<T> => {
    try {
      return await whileBusy(work)
    } catch (error) {
      const { code, responseCode } = details.parse(error)
      if (!tokens || code !== 'EAUTH' || !responseCode) throw error
      await tokens('renew').catch(() => Promise.reject(error))
      if (!mayRepeat) throw error
      return await whileBusy(work)
    }
  }

  return {
    name: server.host,
    isApi: false,
    repeatableMs: 0,
    async send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>) {
      let isComplete = false
      endings.set(mail.messageId ?? '', async () => {
        await beforeEnd?.()
        isComplete = true
        complete++
      })
      try {
        const { response = '', rejectedErrors = [] } = await withNewToken(
          () => open().sendMail(mail),
          // Attachments are streams that the first attempt may have consumed; the outbox opens them again.
          !mail.attachments?.length,
        )
        return { response, refused: rejectedErrors.flatMap(refusalOf) }
      } catch (error) {
        throw failure(gateway, key, error, isComplete)
      } finally {
        if (isComplete) complete--
        endings.delete(mail.messageId ?? '')
      }
    },
    verify: () =>
      withNewToken(() => open().verify()).catch((error) => Promise.reject(withStep(withTlsAdvice(error)))),
    silence: sockets.longestSilence,
    close() {
      pool?.close()
      sockets.close()
    },
  }
}

/** The refusal of a recipient; empty for an error without one. */
function refusalOf(error: unknown): SubmissionResult['refused'] {
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
  const { mode, ...address } = endpointOf(SMTPS_PORT, server)
  const transporter = nodemailer.createTransport({
    pool: true,
    ...address,
    requireTLS: mode === 'starttls',
    ignoreTLS: mode === 'none',
    ...(user ? { auth: tokens ? { type: 'OAuth2' as const, user } : { user, pass } } : {}),
    maxConnections: MAX_CONNECTIONS,
    // A mail may have arrived even if its connection died, so the library must not send it again.
    maxRequeues: 0,
    // Longer than the limits of the sockets, which apply first.
    greetingTimeout: 2 * timing.step,
    getSocket: (_: unknown, done: Parameters<typeof openSocket>[2]) =>
      openSocket(address.host, address.port, done),
  })
  if (tokens) {
    transporter.set('oauth2_provision_cb', (_user, renew, done) => {
      tokens(renew ? 'renew' : 'cached').then(
        (token) => done(null, token),
        (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
      )
    })
  }
  transporter.use('stream', (mail, done) => {
    // The SMTP connection reads the mail after the server's 354. At its end, it sends the final dot;
    // from then on the server may have the mail, whatever it responds.
    const beforeEnd = endings.get(mail.data.messageId ?? '')
    const withCallback = async function* (source: AsyncIterable<Buffer>) {
      yield* source
      await beforeEnd?.()
    }
    mail.message.processFunc((source) => Readable.from(withCallback(source), { objectMode: false }))
    done()
  })
  return transporter
}

/**
 * The error of a send. `isComplete`: the server had the whole mail, so without a response it may have
 * accepted it.
 */
function failure(gateway: string, key: string, error: unknown, isComplete: boolean): TriviumError {
  const { responseCode } = details.parse(error)
  const reason = reasonOf(withStep(withTlsAdvice(error)))
  const cause = { cause: error }
  if (responseCode === undefined && isComplete) {
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
 * Whether the server permanently refused this mail (recipient, content or size), and not the session or
 * account, which the operator has to fix while all mails wait.
 */
function isAboutMail(error: unknown): boolean {
  const { responseCode, code, command = '' } = details.parse(error)
  // nodemailer found no recipient, an invalid address, or a mail over the server's size limit.
  if (responseCode === undefined) return (code === 'EENVELOPE' && command === 'API') || code === 'EMESSAGE'
  if (responseCode < 500 || LOGIN_CODES.has(responseCode)) return false
  const reason = reasonOf(error)
  if (command === 'RCPT TO' || command === 'DATA') return !ABOUT_SENDER.test(reason)
  return command === 'MAIL FROM' && responseCode === 552 && TOO_BIG.test(reason)
}

const STEPS: Record<string, string> = {
  CONN: 'on connecting',
  STARTTLS: 'at STARTTLS',
  'MAIL FROM': 'for the sender (MAIL FROM): check `address` and whether this login may send as it',
}

/** Adds the step of the session to the message of an error. */
function withStep<T>(error: T): T {
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
