import type { TransportDeps } from '../../src/core/transport.ts'
import type { Signed } from '../../src/lib/signatures.ts'
import type { BodyOption } from './decode-body.ts'
import type { Answer } from './preset.ts'

/** A delivery to verify. `url`: the requested URL with its query. */
export type Delivery = Pick<Signed, 'headers' | 'raw'> & { method: string; url: string }

/** Verifies deliveries to one gateway. */
export type Verifier = {
  /**
   * Returns why a delivery is refused, or undefined if it is valid. Uses the raw bytes of the body.
   * Asynchronous only if keys must be fetched; rejects with `keys_unavailable` if that fails.
   */
  check(delivery: Delivery): string | undefined | Promise<string | undefined>
  /** The header `WWW-Authenticate`, if the scheme has one. */
  challenge?: string
  /**
   * The body for the message: decrypted, or without a secret that it contains. Readers of the
   * message could use the secret to forge deliveries.
   */
  conceal?(raw: Buffer, headers: Delivery['headers']): Buffer
  /** Answers a verified delivery that is not a message. */
  handshake?(raw: Buffer): Promise<Answer | undefined>
}

/** Dependencies of verifiers, besides their options. */
export type VerifierDeps = Pick<TransportDeps, 'gateway' | 'now' | 'log'> & {
  /** How bodies are decoded: a verified field must be the same field as in the message. */
  body?: BodyOption
  /** The URL of this gateway according to `public-url`. */
  address?(): string | undefined
}
