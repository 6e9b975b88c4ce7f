import type { DNSResolver } from 'mailauth'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { checkMailbox } from './check.ts'
import { createIngest } from './inbound/ingest.ts'
import { imapConnector } from './mailbox/imap-connection.ts'
import { createReader, READER_TIMING, type ReaderTiming } from './mailbox/reader.ts'
import { createTokenSource } from './oauth.ts'
import type { EmailOptions, ServerOptions } from './options.ts'
import { createLoginCheck } from './outbound/login-check.ts'
import { createSender } from './outbound/sender.ts'
import { createSmtp } from './outbound/smtp.ts'
import { SMTP_TIMING, type SmtpTiming } from './outbound/smtp-socket.ts'
import { createResolver } from './proof/dns.ts'
import { createSentLog } from './sent-log.ts'

/** What a test may put in place of the world. */
export type EmailWorld = {
  resolver?: DNSResolver
  patience?: number
  timing?: ReaderTiming
  imapTimeout?: number
  smtpTiming?: SmtpTiming
}

/** Wires one mailbox: reading by IMAP, replying by SMTP. Does no I/O before `start`. */
export function createEmailTransport(
  options: EmailOptions,
  deps: TransportDeps,
  world: EmailWorld = {},
): Transport {
  const { resolver = createResolver(), patience = 300_000, timing = READER_TIMING } = world
  const { smtpTiming = SMTP_TIMING } = world
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps)
  const connect = imapConnector(options.imap, tokensFor(options.imap), world.imapTimeout)
  const smtp = createSmtp(deps.gateway, options.smtp, tokensFor(options.smtp), smtpTiming)
  const sent = createSentLog(deps.kv, deps.gateway)
  const ingest = createIngest({ options, deps, sent, resolver, patience })
  const reader = createReader({ options, deps, connect, ingest, patience, timing })
  const login = createLoginCheck({ verify: smtp.verify, log: deps.log, now: deps.now })
  const sender = createSender({ options, deps, connect, smtp, sent, onSent: login.good })

  /** Why answers wait, for people. */
  const trouble = () => {
    const silence = smtp.silence()
    const isSilent = silence > smtpTiming.step / 2
    return (
      sender.trouble() ??
      login.trouble() ??
      (isSilent ? `the SMTP server has not answered for ${Math.round(silence / 1000)} s` : undefined)
    )
  }

  return {
    async start() {
      reader.start()
      login.start()
    },
    copies: true,
    send: sender.send,
    probe: sender.probe,
    stop: () => reader.stop(),
    async close() {
      login.stop()
      await reader.stop()
      smtp.close()
    },
    health() {
      const health = reader.health()
      const why = trouble()
      const warning = sender.stopped().slice(0, 5).join('; ')
      const detail = [health.detail, why, warning].filter(Boolean).join('; ')
      return { ok: health.ok && !why, detail, ...(warning === '' ? {} : { warning }) }
    },
    check: () => checkMailbox(options, connect, smtp),
  }
}
