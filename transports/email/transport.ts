import type { DNSResolver } from 'mailauth'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { checkMailbox } from './check.ts'
import { createConversations } from './inbound/conversation.ts'
import { createIngest } from './inbound/ingest.ts'
import { imapConnector } from './mailbox/imap-connection.ts'
import { createReader, READER_TIMING, type ReaderTiming } from './mailbox/reader.ts'
import { createTokenSource } from './oauth.ts'
import type { EmailOptions, ServerOptions } from './options.ts'
import { createSender } from './outbound/sender.ts'
import { createSentFolder } from './outbound/sent-folder.ts'
import { createSmtp } from './outbound/smtp.ts'
import { createResolver } from './proof/dns.ts'
import { createIdentityCheck } from './proof/verify.ts'
import { createSentLog } from './sent-log.ts'

/** What a test may put in place of the world. */
export type EmailWorld = {
  resolver?: DNSResolver
  /** How long a mail waits for the DNS (ms). */
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
  const { kv, gateway, now } = deps
  const { resolver = createResolver(), patience = 300_000, timing = READER_TIMING } = world
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps, now)
  const own = new Set([options.address, ...options.aliases].map((each) => each.toLowerCase()))
  const connect = imapConnector(options.imap, tokensFor(options.imap), world.imapTimeout)
  const smtp = createSmtp({ gateway, server: options.smtp, tokens: tokensFor(options.smtp) })
  const sent = createSentLog(kv, gateway)
  const { authentication, trust } = options
  const verify = createIdentityCheck({ authentication, trust, resolver })
  const findConversation = createConversations({ kv, gateway, sent, window: options['thread-window'] })
  const ingest = createIngest({ options, deps, own, verify, patience, findConversation, sent })
  const reader = createReader({ options, deps, connect, ingest, patience, timing })
  const sentFolder = options.sent && createSentFolder(options.sent, connect)
  const sender = createSender({ options, deps, smtp, sent, sentFolder })

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
      return trouble ? { ok: false, detail: `${health.detail}; ${trouble}` } : health
    },
    check: () => checkMailbox(options, connect, smtp),
  }
}
