import type { SendMailOptions } from 'nodemailer'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { withTlsAdvice } from '../mailbox/imap-connection.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'
import { createLending } from './lending.ts'
import { createSmtpConnection } from './smtp-connection.ts'
import { SMTP_TIMING, type SmtpTiming } from './smtp-socket.ts'
import type { Submission, SubmissionResult } from './submission.ts'

const MAX_CONNECTIONS = 3

/**
 * Up to `MAX_CONNECTIONS` connections to the SMTP server, opened by the first mails, and one for
 * checks of the login.
 */
export function createSmtp(
  gateway: string,
  server: ServerOptions,
  tokens: TokenSource | undefined,
  timing: SmtpTiming = SMTP_TIMING,
): Submission {
  let isClosed = false
  const connect = () => createSmtpConnection(server, tokens, timing)
  const mailConnections = createLending(MAX_CONNECTIONS, connect)
  const loginConnection = connect()
  const all = () => [loginConnection, ...mailConnections.all()]

  /**
   * Retries once with a new token after a failed login, because some servers do not ask for one.
   */
  const withNewToken = async <T>(work: () => Promise<T>, mayRepeat = true): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      const { code, responseCode } = details.parse(error)
      if (!tokens || code !== 'EAUTH' || !responseCode) throw error
      await tokens('renew').catch(() => Promise.reject(error))
      if (!mayRepeat) throw error
      return await work()
    }
  }

  return {
    name: server.host,
    isApi: false,
    repeatableMs: 0,
    async send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>) {
      let isComplete = false
      const atEnd = async () => {
        await beforeEnd?.()
        isComplete = true
      }
      try {
        if (isClosed) throw new Error('the gateway was stopped')
        const { response = '', rejectedErrors = [] } = await mailConnections.during((connection) =>
          withNewToken(
            () => connection.send(mail, atEnd),
            // Attachments are streams that the first attempt may have consumed; the outbox opens
            // them again.
            !mail.attachments?.length,
          ),
        )
        return { response, refused: rejectedErrors.flatMap(refusalOf) }
      } catch (error) {
        throw failure(gateway, key, error, isComplete)
      }
    },
    verify: () =>
      withNewToken(loginConnection.verify).catch((error) => Promise.reject(withStep(withTlsAdvice(error)))),
    silence: () => Math.max(...all().map((connection) => connection.silence())),
    close() {
      isClosed = true
      for (const connection of all()) connection.close()
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

/**
 * The error of a send. `isComplete`: the server had the whole mail, so without a response it may
 * have accepted it.
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

/**
 * Authentication or TLS is required, or the login failed (RFC 4954), in response to any command.
 */
const LOGIN_CODES = new Set([530, 534, 535, 538])
/**
 * Refusals of the client or sender, which some servers return for RCPT TO, and Exchange after DATA.
 */
const ABOUT_SENDER =
  /sender address|client host|helo command|not owned by user|authentication (?:is )?required|send as|sendasdenied/i
const TOO_BIG = /\b5\.3\.4\b|size/i

/**
 * Whether the server permanently refused this mail (recipient, content or size), and not the
 * session or account, which the operator has to fix while all mails wait.
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
