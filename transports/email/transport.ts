import type { DNSResolver } from 'mailauth'
import { TriviumError } from '../../src/core/errors.ts'
import type { Health, Transport, TransportDeps } from '../../src/core/transport.ts'
import { MINUTE } from '../../src/core/units.ts'
import { defined } from '../../src/lib/defined.ts'
import { requireAddress } from './address.ts'
import { createMailApi } from './api/submit.ts'
import { checkMailbox, checkSubmission } from './check.ts'
import type { HandOverHost } from './host.ts'
import { createConversations } from './inbound/conversation.ts'
import { createHumanReplies } from './inbound/human-replies.ts'
import { createIngest } from './inbound/ingest.ts'
import { type ConnectImap, imapConnector } from './mailbox/imap-connection.ts'
import { createReader, READER_TIMING, type ReaderTiming } from './mailbox/reader.ts'
import type { FolderReading } from './mailbox/reading.ts'
import { createTokenSource } from './oauth.ts'
import { type EmailOptions, foldersOf, maxSilenceOf, type ServerOptions } from './options.ts'
import { createLoginCheck } from './outbound/login-check.ts'
import { createSender } from './outbound/sender.ts'
import { createSmtp } from './outbound/smtp.ts'
import { SMTP_TIMING, type SmtpTiming } from './outbound/smtp-socket.ts'
import { createResolver } from './proof/dns.ts'
import { domainOf } from './proof/results.ts'
import { createSentLog } from './sent-log.ts'
import { createMailEndpoint, type EndpointParts } from './webhook/endpoint.ts'

/** Values that tests replace. Times in ms. */
export type EmailOverrides = {
  resolver?: DNSResolver
  /** How long to wait until it is decided whether the sender of a mail is verified. */
  decisionTimeout?: number
  timing?: ReaderTiming
  imapTimeout?: number
  smtpTiming?: SmtpTiming
}

/** Maximum number of exhausted budgets in the health. */
const MAX_WARNINGS = 5

/**
 * Creates the transport of one mailbox: mail arrives by IMAP or webhook, and answers are sent by
 * SMTP or an API. Does no I/O before `start`.
 */
export function createEmailTransport(
  options: EmailOptions,
  deps: TransportDeps & HandOverHost,
  overrides: EmailOverrides = {},
): Transport {
  const {
    resolver = createResolver(),
    decisionTimeout = 5 * MINUTE,
    smtpTiming = SMTP_TIMING,
    timing,
  } = overrides
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps)
  const { imap } = options
  const connect = imap && imapConnector(imap, tokensFor(imap), overrides.imapTimeout)
  const { submission, replacesMessageId } = createSubmission(options, deps, tokensFor, smtpTiming)
  const sent = createSentLog(deps.kv, deps.gateway, replacesMessageId)
  const own = new Set([options.address, ...options.aliases].map((each) => each.toLowerCase()))
  const findConversation = createConversations(deps.kv, deps.gateway, sent, options['thread-window'])
  const ingest = createIngest({ options, deps, sent, own, findConversation, resolver, decisionTimeout })
  const sentFolders = sentFolderReading(options, { own, deps, sent, findConversation })
  const inbound = createInbound({ options, deps, connect, ingest, sentFolders, decisionTimeout, timing })
  const login = createLoginCheck(submission, deps)
  const sender = createSender({ options, deps, connect, submission, sent, onSent: login.recordSuccess })

  /** Describes why answers wait, if they do. */
  const trouble = () => {
    const silence = submission.silence()
    // Half of the time after which a missing response ends the session.
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
    severalTargets: true,
    requireTarget: async (to) => requireAddress(deps.gateway, to.trim()),
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
      const warning = sender.exhaustedBudgets().slice(0, MAX_WARNINGS).join('; ')
      const detail = [health.detail, why, warning].filter(Boolean).join('; ')
      const { since } = health
      const account = accountOf(options)
      return { ok: health.ok && !why, detail, ...defined({ account, since }), ...(warning && { warning }) }
    },
    async check() {
      if (options.inbound === 'imap' && connect) return checkMailbox(options, connect, submission)
      return [...(await inbound.check()), await checkSubmission(submission)]
    },
  }
}

/** The login and the server of the mailbox: `support at imap.example:993`. */
function accountOf({ inbound, imap }: EmailOptions): string | undefined {
  if (inbound !== 'imap' || !imap) return undefined
  const { host, port = 993, user } = imap
  return `${user ?? 'no user'} at ${host}:${port}`
}

/** The sending part. `replacesMessageId`: the provider replaces Message-IDs. */
function createSubmission(
  { api, smtp, outbound, address }: EmailOptions,
  deps: TransportDeps,
  tokensFor: (server: ServerOptions) => ReturnType<typeof createTokenSource> | undefined,
  timing: SmtpTiming,
) {
  if (outbound === 'api' && api) {
    const submission = createMailApi(api, domainOf(address), deps)
    return { submission, replacesMessageId: submission.replacesMessageId }
  }
  if (!smtp) throw missing(deps.gateway, 'smtp')
  return { submission: createSmtp(deps.gateway, smtp, tokensFor(smtp), timing), replacesMessageId: false }
}

/** The folder of sent mail, which has the answers of people. Empty unless `handover` is set. */
function sentFolderReading(
  options: EmailOptions,
  parts: Omit<Parameters<typeof createHumanReplies>[0], 'handover'>,
): FolderReading[] {
  const { handover, sent } = options
  if (!handover || !sent) return []
  const ingest = createHumanReplies({ handover, ...parts })
  const readOnly = { since: 'now', after: 'keep', quarantine: undefined } as const
  return [{ folder: sent.folder, options: { ...options, ...readOnly }, ingest }]
}

type InboundParts = Omit<EndpointParts, 'webhook'> & {
  /** How long (ms) to wait until it is decided whether the sender of a mail is verified. */
  decisionTimeout: number
  connect: ConnectImap | undefined
  sentFolders: FolderReading[]
  timing: ReaderTiming | undefined
}

/** The receiving part. It also reads the answers of people in `sentFolders`. */
function createInbound({ connect, sentFolders, timing = READER_TIMING, ...parts }: InboundParts) {
  const { options, deps, ingest, decisionTimeout } = parts
  const { inbound, webhook } = options
  const maxSilence = maxSilenceOf(options)
  const endpoint = inbound === 'webhook' && webhook && createMailEndpoint({ ...parts, webhook })
  const mailbox = endpoint ? [] : foldersOf(options).map((folder) => ({ folder, options, ingest }))
  const folders = [...mailbox, ...sentFolders]
  if (!connect && !endpoint) throw missing(deps.gateway, 'imap')
  const reader =
    connect &&
    folders.length > 0 &&
    createReader({ deps, decisionTimeout, folders, maxSilence, connect, timing })
  const sources = [...(endpoint ? [endpoint] : []), ...(reader ? [reader] : [])]
  return {
    async start() {
      for (const source of sources) await source.start()
    },
    stop: async () => void (await Promise.all(sources.map((source) => source.stop()))),
    close: async () => (endpoint ? endpoint.close() : undefined),
    health(): Health {
      const all = sources.map((source) => source.health())
      const since = all.find(({ ok }) => !ok)?.since
      const detail = all.map((each) => each.detail).join('; ')
      return { ok: all.every(({ ok }) => ok), detail, ...defined({ since }) }
    },
    check: async () => (endpoint ? endpoint.check() : []),
  }
}

/** The error for a missing option, which the schema already prevents. */
function missing(gateway: string, key: string): TriviumError {
  return new TriviumError('config_invalid', { details: `gateway ${gateway}: missing key "${key}"` })
}
