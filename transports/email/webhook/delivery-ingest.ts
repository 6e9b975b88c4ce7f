import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { TriviumError } from '../../../src/core/errors.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { DAY } from '../../../src/core/units.ts'
import { decodeBody } from '../../deliveries/decode-body.ts'
import { createMemoryLimit, createUnpack } from '../../deliveries/unpack.ts'
import type { Verifier } from '../../deliveries/verifier-types.ts'
import type { Incoming, Ingested } from '../inbound/incoming.ts'
import type { Ingest } from '../inbound/ingest.ts'
import type { EmailOptions } from '../options.ts'
import type { MailWebhookOptions } from '../webhook-options.ts'
import { createFetchMail } from './fetch-mail.ts'
import { toIncoming } from './incoming.ts'
import { MAIL_READERS } from './providers.ts'

/** How long the first delivery of an undecided mail is remembered. */
const UNDECIDED_TTL_MS = 2 * DAY

export type EndpointParts = {
  options: EmailOptions
  webhook: MailWebhookOptions
  deps: TransportDeps
  ingest: Ingest
}

/** The outcome of a delivery. */
type DeliveryOutcome = Omit<Ingested, 'outcome'> & {
  outcome:
    | Ingested['outcome']
    /** The delivery has no mail. */
    | 'ignored'
    /** A subscription was confirmed. */
    | 'confirmed'
}

/**
 * Creates the function that reads the mail of a verified delivery and accepts it. It resolves once
 * the result is durable. `limit`: maximum bytes of the unpacked body, and of a mail that is
 * fetched.
 */
export function createDeliveryIngest(
  parts: EndpointParts & { limit: number; verifier: Verifier; closing: AbortSignal },
) {
  const { options, webhook, deps, ingest, limit, verifier, closing } = parts
  const { gateway } = deps
  const unpack = createUnpack(gateway, limit)
  const withinMemory = createMemoryLimit(limit)
  const fetchMail = createFetchMail(gateway, limit, closing)
  const undecidedFor = createUndecidedTimes(deps)

  /**
   * Accepts or refuses a mail. While its sender cannot be verified, throws `mail_unavailable`, so
   * that the provider posts the mail again.
   */
  const ingestOrPostpone = async (incoming: Incoming): Promise<Ingested> => {
    const [result] = await ingest([incoming], undecidedFor)
    if (result && result.outcome !== 'undecided') return result
    const reason = 'the DNS does not answer, so its sender cannot be verified'
    throw new TriviumError('mail_unavailable', { gateway, reason })
  }

  return ({ headers }: IncomingMessage, sent: Buffer): Promise<DeliveryOutcome> =>
    withinMemory(sent.length, async () => {
      const raw = await unpack(headers['content-encoding'] ?? 'identity', sent)
      if (await verifier.handshake?.(raw)) return { outcome: 'confirmed' }
      const delivery = { headers, raw, decode: () => decodeBody(headers['content-type'], raw) }
      const delivered = await MAIL_READERS[webhook.provider].read(delivery, { options: webhook, fetchMail })
      if (!delivered) return { outcome: 'ignored' }
      return ingestOrPostpone(
        await toIncoming(delivered, { ...options, source: webhook.provider, now: deps.now() }),
      )
    })
}

/** Creates the function that tells how long (ms) a mail is undecided: 0 at its first delivery. */
function createUndecidedTimes({ kv, gateway, now }: TransportDeps) {
  return async ({ raw }: Incoming): Promise<number> => {
    const key = `email/${gateway}/undecided/${hash('sha256', raw, 'base64url').slice(0, 22)}`
    const current = now()
    await kv.set(key, current, { ttl: UNDECIDED_TTL_MS, ifVersion: 0 })
    const since = (await kv.get(key))?.value
    return typeof since === 'number' ? current - since : 0
  }
}
