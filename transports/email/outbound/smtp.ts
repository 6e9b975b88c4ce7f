import { Readable } from 'node:stream'
import nodemailer, { type SendMailOptions } from 'nodemailer'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { reach, withTlsAdvice } from '../mailbox/imap-connection.ts'
import type { TokenSource } from '../oauth.ts'
import type { ServerOptions } from '../options.ts'

export type Smtp = ReturnType<typeof createSmtp>

/** A pool of connections to the SMTP server. The first send opens it. */
export function createSmtp(gateway: string, server: ServerOptions, tokens: TokenSource | undefined) {
  /** By Message-ID: what is to be done before the server gets the end of a mail. */
  const endings = new Map<string, () => Promise<void>>()
  let pool: ReturnType<typeof createPool> | undefined

  const open = () => {
    pool ??= createPool(server, tokens, endings)
    return pool
  }

  return {
    /**
     * Hands one mail over; resolves with the server's answer. `beforeEnd` is awaited when the server is about to have the
     * whole mail; where it rejects, the server does not get the end. Throws `send_rejected` (5xx), `send_failed` (4xx,
     * network: it was not taken), or `send_ambiguous`: the whole mail was handed over and no answer came.
     */
    async send(mail: SendMailOptions, key: string, beforeEnd?: () => Promise<void>): Promise<string> {
      let isWhole = false
      endings.set(mail.messageId ?? '', async () => {
        await beforeEnd?.()
        isWhole = true
      })
      try {
        const { response } = await open().sendMail(mail)
        return response ?? ''
      } catch (error) {
        const { code, responseCode } = details.parse(error)
        // Some servers refuse a token without asking for another: the next attempt logs in with a fresh one.
        if (code === 'EAUTH' && responseCode) await tokens?.('renew').catch(() => {})
        throw failure(gateway, key, error, isWhole)
      } finally {
        endings.delete(mail.messageId ?? '')
      }
    },
    /** Connects and logs in. Rejects where that fails. */
    verify: () =>
      open()
        .verify()
        .catch((error) => Promise.reject(withTlsAdvice(error))),
    close: () => pool?.close(),
  }
}

function createPool(
  server: ServerOptions,
  tokens: TokenSource | undefined,
  endings: ReadonlyMap<string, () => Promise<void>>,
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
    // A mail whose connection died may have arrived. Whether to send it again is decided with that in mind.
    maxRequeues: 0,
    connectionTimeout: 30_000,
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
    // Only the SMTP connection reads it, after the server's 354. Once it has read the end it sends the last dot, and from
    // then on the server may have the mail, whatever happens to the answer.
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
  const { responseCode, code, command } = details.parse(error)
  const reason = reasonOf(withTlsAdvice(error))
  const cause = { cause: error }
  if (responseCode === undefined && isWhole) {
    return new TriviumError('send_ambiguous', { gateway, key, reason }, cause)
  }
  // A refused login is the operator's to mend; the mail itself is fine and waits.
  const isLogin = code === 'EAUTH' || command === 'AUTH'
  const isPermanent = responseCode === undefined ? code === 'EENVELOPE' : responseCode >= 500 && !isLogin
  return new TriviumError(isPermanent ? 'send_rejected' : 'send_failed', { gateway, reason }, cause)
}

/** What nodemailer adds to its errors. */
const details = z
  .object({ responseCode: z.number(), code: z.string(), command: z.string() })
  .partial()
  .catch({})
