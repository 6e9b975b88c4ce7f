import type { DNSResolver } from 'mailauth'
import { TriviumError } from '../../src/core/errors.ts'
import type { Transport, TransportDeps } from '../../src/core/transport.ts'
import { createMailApi } from './api/submit.ts'
import { checkMailbox, checkSubmission } from './check.ts'
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
import { domainOf } from './proof/results.ts'
import { createSentLog } from './sent-log.ts'
import { createMailDoor } from './webhook/door.ts'

/** What a test may put in place of the world. */
export type EmailWorld = {
  resolver?: DNSResolver
  patience?: number
  timing?: ReaderTiming
  imapTimeout?: number
  smtpTiming?: SmtpTiming
}

/** Wires one mailbox: mail comes by IMAP or a webhook, and answers go by SMTP or an API. Does no I/O before `start`. */
export function createEmailTransport(
  options: EmailOptions,
  deps: TransportDeps,
  world: EmailWorld = {},
): Transport {
  const { resolver = createResolver(), patience = 300_000, smtpTiming = SMTP_TIMING } = world
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps)
  const { imap } = options
  const connect = imap && imapConnector(imap, tokensFor(imap), world.imapTimeout)
  const { submission, isRenamed } = createSubmission(options, deps, tokensFor, smtpTiming)
  const sent = createSentLog(deps.kv, deps.gateway, isRenamed)
  const ingest = createIngest({ options, deps, sent, resolver, patience })
  const inbound = createInbound({ options, deps, connect, ingest, patience, timing: world.timing })
  const login = createLoginCheck({ verify: submission.verify, log: deps.log, now: deps.now })
  const sender = createSender({ options, deps, connect, submission, sent, onSent: login.good })

  /** Why answers wait, for people. */
  const trouble = () => {
    const silence = submission.silence()
    const isSilent = silence > smtpTiming.step / 2
    return (
      sender.trouble() ??
      login.trouble() ??
      (isSilent ? `the SMTP server has not answered for ${Math.round(silence / 1000)} s` : undefined)
    )
  }

  return {
    async start() {
      await inbound.start()
      login.start()
    },
    copies: true,
    send: sender.send,
    probe: sender.probe,
    stop: () => inbound.stop(),
    async close() {
      login.stop()
      await inbound.stop()
      await inbound.close()
      submission.close()
    },
    health() {
      const health = inbound.health()
      const why = trouble()
      const warning = sender.stopped().slice(0, 5).join('; ')
      const detail = [health.detail, why, warning].filter(Boolean).join('; ')
      return { ok: health.ok && !why, detail, ...(warning === '' ? {} : { warning }) }
    },
    async check() {
      if (options.inbound === 'imap' && connect) return checkMailbox(options, connect, submission)
      return [...(await inbound.check()), await checkSubmission(submission)]
    },
  }
}

/** What sends. `isRenamed`: it gives mail Message-IDs of its own. */
function createSubmission(
  { api, smtp, outbound, address }: EmailOptions,
  deps: TransportDeps,
  tokensFor: (server: ServerOptions) => ReturnType<typeof createTokenSource> | undefined,
  timing: SmtpTiming,
) {
  if (outbound === 'api' && api) {
    const submission = createMailApi(api, domainOf(address), deps)
    return { submission, isRenamed: submission.isRenamed }
  }
  if (!smtp) throw missing(deps.gateway, 'smtp')
  return { submission: createSmtp(deps.gateway, smtp, tokensFor(smtp), timing), isRenamed: false }
}

type InboundParts = Omit<Parameters<typeof createReader>[0], 'connect' | 'timing'> & {
  connect: Parameters<typeof createReader>[0]['connect'] | undefined
  timing: ReaderTiming | undefined
}

/** Where mail comes from. */
function createInbound({ connect, timing = READER_TIMING, ...parts }: InboundParts) {
  const { inbound, webhook } = parts.options
  if (inbound === 'webhook' && webhook) return createMailDoor({ ...parts, webhook })
  if (!connect) throw missing(parts.deps.gateway, 'imap')
  const reader = createReader({ ...parts, connect, timing })
  return {
    start: async () => reader.start(),
    stop: () => reader.stop(),
    close: async () => {},
    health: () => reader.health(),
    check: async () => [],
  }
}

/** The schema of the options does not let it come to that. */
function missing(gateway: string, key: string): TriviumError {
  return new TriviumError('config_invalid', { details: `gateway ${gateway}: missing key "${key}"` })
}
