import type { DNSResolver } from 'mailauth'
import { TriviumError } from '../../src/core/errors.ts'
import type { Health, Transport, TransportDeps } from '../../src/core/transport.ts'
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
import type { EmailOptions, ServerOptions } from './options.ts'
import { createLoginCheck } from './outbound/login-check.ts'
import { createSender } from './outbound/sender.ts'
import { createSmtp } from './outbound/smtp.ts'
import { SMTP_TIMING, type SmtpTiming } from './outbound/smtp-socket.ts'
import { createResolver } from './proof/dns.ts'
import { domainOf } from './proof/results.ts'
import { createSentLog } from './sent-log.ts'
import { createMailDoor } from './webhook/door.ts'
import type { TakeParts } from './webhook/take.ts'

/** Replacements for tests. */
export type EmailWorld = {
  resolver?: DNSResolver
  patience?: number
  timing?: ReaderTiming
  imapTimeout?: number
  smtpTiming?: SmtpTiming
}

/**
 * Wires one mailbox: mail arrives by IMAP or webhook, and answers are sent by SMTP or an API. Does no I/O
 * before `start`.
 */
export function createEmailTransport(
  options: EmailOptions,
  deps: TransportDeps & HandOverHost,
  world: EmailWorld = {},
): Transport {
  const { resolver = createResolver(), patience = 300_000, smtpTiming = SMTP_TIMING } = world
  const tokensFor = ({ oauth2 }: ServerOptions) => oauth2 && createTokenSource(oauth2, deps)
  const { imap } = options
  const connect = imap && imapConnector(imap, tokensFor(imap), world.imapTimeout)
  const { submission, isRenamed } = createSubmission(options, deps, tokensFor, smtpTiming)
  const sent = createSentLog(deps.kv, deps.gateway, isRenamed)
  const own = new Set([options.address, ...options.aliases].map((each) => each.toLowerCase()))
  const findConversation = createConversations(deps.kv, deps.gateway, sent, options['thread-window'])
  const ingest = createIngest({ options, deps, sent, own, findConversation, resolver, patience })
  const replies = sentFolder(options, { own, deps, sent, findConversation })
  const { timing } = world
  const inbound = createInbound({ options, deps, connect, ingest, replies, patience, timing })
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

/** The sending part. `isRenamed`: the provider replaces Message-IDs. */
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

/** The folder of sent mail, which shows who takes over. */
function sentFolder(
  options: EmailOptions,
  parts: Omit<Parameters<typeof createHumanReplies>[0], 'handover'>,
): FolderReading[] {
  const { handover, sent } = options
  if (!handover || !sent) return []
  const ingest = createHumanReplies({ handover, ...parts })
  const untouched = { since: 'now', after: 'keep', quarantine: undefined } as const
  return [{ folder: sent.folder, options: { ...options, ...untouched }, ingest }]
}

type InboundParts = Omit<TakeParts, 'webhook'> & {
  connect: ConnectImap | undefined
  replies: FolderReading[]
  timing: ReaderTiming | undefined
}

/** The receiving part, which also notices answers of people. */
function createInbound({ connect, replies, timing = READER_TIMING, ...parts }: InboundParts) {
  const { options, deps, ingest, patience } = parts
  const { inbound, webhook, 'max-silence': maxSilence } = options
  const door = inbound === 'webhook' && webhook && createMailDoor({ ...parts, webhook })
  const mailbox = door ? [] : options.folders.map((folder) => ({ folder, options, ingest }))
  const folders = [...mailbox, ...replies]
  if (!connect && !door) throw missing(deps.gateway, 'imap')
  const reader =
    connect && folders.length > 0 && createReader({ deps, patience, folders, maxSilence, connect, timing })
  const roads = [...(door ? [door] : []), ...(reader ? [reader] : [])]
  return {
    async start() {
      for (const road of roads) await road.start()
    },
    stop: async () => void (await Promise.all(roads.map((road) => road.stop()))),
    close: async () => (door ? door.close() : undefined),
    health(): Health {
      const all = roads.map((road) => road.health())
      return { ok: all.every(({ ok }) => ok), detail: all.map(({ detail }) => detail).join('; ') }
    },
    check: async () => (door ? door.check() : []),
  }
}

/** The schema of the options prevents this. */
function missing(gateway: string, key: string): TriviumError {
  return new TriviumError('config_invalid', { details: `gateway ${gateway}: missing key "${key}"` })
}
