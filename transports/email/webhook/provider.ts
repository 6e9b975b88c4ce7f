import type { IncomingHttpHeaders } from 'node:http'
import { TriviumError } from '../../../src/core/errors.ts'
import type { DecodedBody } from '../../deliveries/decode-body.ts'
import type { MailWebhookOptions } from '../webhook-options.ts'
import type { FetchMail } from './fetch-mail.ts'
import type { Pieces } from './pieces.ts'

/** A delivery whose proof is good. `decode` reads its body by its type, and throws `bad_request` where that is not possible. */
export type MailDelivery = { headers: IncomingHttpHeaders; raw: Buffer; decode(): DecodedBody }

/**
 * A mail in a delivery: `raw` as it came by SMTP, or the `pieces` that the provider made of it. `id`: the provider's, the same
 * however often it posts the mail. `at`: when the provider took it (Unix ms).
 */
export type Delivered = { id?: string | undefined; at?: number | undefined } & (
  | { raw: Buffer }
  | { pieces: Pieces }
)

/**
 * How a provider posts mail. Undefined: the delivery is about something else. Throws `bad_request` where the mail is missing in
 * it, so that the provider keeps it and shows the fault.
 */
export type MailProvider = {
  read(
    delivery: MailDelivery,
    world: { options: MailWebhookOptions; fetchMail: FetchMail },
  ): Promise<Delivered | undefined>
}

/** Says what is wrong with a delivery. */
export function incomplete(provider: string, reason: string): TriviumError {
  return new TriviumError('bad_request', { reason: `it is no mail of ${provider}: ${reason}` })
}

/** What a provider calls bytes in JSON. */
export function fromBase64(text: string): Buffer {
  return Buffer.from(text, 'base64')
}

export function timeOf(text: unknown): number | undefined {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}
