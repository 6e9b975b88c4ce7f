import type { IncomingHttpHeaders } from 'node:http'
import { TriviumError } from '../../../src/core/errors.ts'
import type { DecodedBody } from '../../deliveries/decode-body.ts'
import type { MailWebhookOptions } from '../webhook-options.ts'
import type { FetchMail } from './fetch-mail.ts'
import type { Pieces } from './pieces.ts'

/**
 * A verified delivery. `decode` reads its body by its Content-Type; it throws `bad_request` if that
 * is not possible.
 */
export type MailDelivery = { headers: IncomingHttpHeaders; raw: Buffer; decode(): DecodedBody }

/** A mail in a delivery. */
export type Delivered = {
  /** The provider's id, which repeated deliveries have too. */
  id?: string | undefined
  /** When the provider received it (Unix ms). */
  at?: number | undefined
} & (RawMail | ParsedMail)

/** A mail as received by SMTP. */
type RawMail = { raw: Buffer }
/** A mail that the provider has parsed. */
type ParsedMail = { pieces: Pieces }

/**
 * Reads the deliveries of a provider. Resolves with undefined for a delivery about something else.
 * Rejects with `bad_request` if the mail is missing, so that the provider keeps it and shows the
 * error.
 */
export type MailProvider = {
  read(
    delivery: MailDelivery,
    context: { options: MailWebhookOptions; fetchMail: FetchMail },
  ): Promise<Delivered | undefined>
}

/** The error for a delivery without a complete mail. */
export function incomplete(provider: string, reason: string): TriviumError {
  return new TriviumError('bad_request', { reason: `it is not a mail from ${provider}: ${reason}` })
}

/** Decodes bytes in a JSON field. */
export function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

/** A date as Unix ms; undefined if it is missing or invalid. */
export function timeOf(text: unknown): number | undefined {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
