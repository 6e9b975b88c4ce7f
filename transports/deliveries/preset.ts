import type { KeyObject } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Json } from '../../src/core/json.ts'
import type { Scheme, Signed } from '../../src/lib/signatures.ts'
import type { Pointers } from './pointers.ts'
import type { Split } from './split-presets.ts'

/** The result of an accepted delivery. */
export type AcceptedDelivery = {
  /** The message, if the delivery is not split. */
  id?: string
  /** The messages of a split delivery. */
  ids?: string[]
  /** Whether the message, or all messages of a split delivery, existed before. */
  duplicate?: boolean
  /** How many messages of a split delivery existed before. */
  duplicates?: number
  /** The skill's reply, with `respond: result`. */
  reply?: string
}

/** A response in the format of a provider. */
export type Answer = { status: number; type?: string; text?: string }

/**
 * What is specific to a provider. One of `signature`, `header` and `inBody` verifies deliveries,
 * except for SNS and PayPal, which have verifiers of their own.
 */
export type Preset = {
  /** Alternatives. The first one whose header or field is present applies. */
  signature?: readonly Scheme[]
  /** Converts a secret, as shown by the provider, to a key. Throws for an invalid one. */
  keyOf?(secret: string): Buffer | KeyObject
  /**
   * Variants of the request that the provider may have signed, if they differ from the received
   * one. Any of them is accepted.
   */
  signedVariants?(request: Signed): Signed[]
  /** Whether the signed URL includes the form fields or a hash of the body. */
  isBodyInUrl?: boolean
  /** The header with the secret. */
  header?: string
  /** The field with the secret in each item of the body's list `value`. */
  inBody?: string
  /** The delivery id, which retries repeat. Signed ids come first. */
  key?: Pointers
  /** The name of the event. */
  event?: Pointers
  /** The id of the sender. */
  from?: Pointers
  /** The conversation, within which messages are handled in order. */
  conversation?: Pointers
  /** How a delivery is split into messages, unless the gateway waits for a result. */
  split?: Split
  /**
   * Answers the request by which a provider checks the URL. Called before any verification. Returns
   * the reason of a refusal as text, and undefined for other requests.
   */
  greet?(method: string, query: URLSearchParams, own: PresetOptions): Answer | string | undefined
  /** Like `greet`, for checks in the body. `raw`: a short body, not verified. */
  greetBody?(raw: Buffer, own: PresetOptions): Answer | undefined
  /** Like `greet`, for checks that the provider signs: called after the verification. */
  handshake?(body: Json | undefined, own: PresetOptions, headers: IncomingHttpHeaders): Answer | undefined
  /** Decrypts a verified body with one of the secrets. Throws `bad_request`. */
  open?(raw: Buffer, secret: readonly string[]): Buffer
  /** The response that the provider expects for an accepted delivery. */
  answer?(accepted: AcceptedDelivery, body: Json | undefined): Answer | undefined
}

/** The options of a gateway that presets use. */
export type PresetOptions = { secret: string[]; 'verify-token'?: string }

/** 200 with JSON, for providers that accept no other status. */
export function json(value: object): Answer {
  return { status: 200, type: 'application/json', text: JSON.stringify(value) }
}

export function plain(text: string): Answer {
  return { status: 200, type: 'text/plain', text }
}
