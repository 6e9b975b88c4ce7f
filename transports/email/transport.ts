import type { DNSResolver } from 'mailauth'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { checkMailbox } from './check.ts'
import { createIngest } from './inbound/ingest.ts'
import { imapConnector } from './mailbox/imap-connection.ts'
import { createReader, READER_TIMING, type ReaderTiming } from './mailbox/reader.ts'
import { createTokenSource } from './oauth.ts'
import type { EmailOptions, ServerOptions } from './options.ts'
import { createSender } from './outbound/sender.ts'
import { createSmtp } from './outbound/smtp.ts'
import { createResolver } from './proof/dns.ts'
import { createSentLog } from './sent-log.ts'

/** What a test may put in place of the world. */
export type EmailWorld = {
  resolver?: DNSResolver
  patience?: number
  timing?: ReaderTiming
  imapTimeout?: number
}

/** Wires one mailbox: reading by IMAP, replying by SMTP. Does no I/O before `start`. */
export function createEmailTransport(
  options: EmailOptions,
  deps: TransportDeps,
  world: EmailWorld = {},
): Transport {
  const { resolver = createResolver(), patience = 300_000, timing = READER_TIMING } = world
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps)
  const connect = imapConnector(options.imap, tokensFor(options.imap), world.imapTimeout)
  const smtp = createSmtp(deps.gateway, options.smtp, tokensFor(options.smtp))
  const sent = createSentLog(deps.kv, deps.gateway)
  const ingest = createIngest({ options, deps, sent, resolver, patience })
  const reader = createReader({ options, deps, connect, ingest, patience, timing })
  const sender = createSender({ options, deps, connect, smtp, sent })

  return {
    start: async () => reader.start(),
    send: sender.send,
    probe: sender.probe,
    stop: () => reader.stop(),
    async close() {
      await reader.stop()
      smtp.close()
    },
    health() {
      const health = reader.health()
      const trouble = sender.trouble()
      const stopped = sender.stopped()
      const detail = [health.detail, trouble, ...stopped.slice(0, 5)].filter(Boolean).join('; ')
      return { ok: health.ok && !trouble, detail }
    },
    check: () => checkMailbox(options, connect, smtp),
  }
}
