import type { TransportDeps } from '../../src/core/transport.ts'
import type { Signed } from '../../src/lib/signatures.ts'
import type { BodyOption } from './decode-body.ts'
import type { Answer } from './preset.ts'

/** A delivery whose proof is looked at. `url`: where it was posted, with its query. */
export type Delivery = Pick<Signed, 'headers' | 'raw'> & { method: string; url: string }

/** What proves deliveries to one gateway. */
export type Verifier = {
  /**
   * Why one is refused, by its body exactly as it came; undefined where it is good. Waits only where keys have to be fetched,
   * and rejects with `keys_unavailable` where they cannot be.
   */
  check(delivery: Delivery): string | undefined | Promise<string | undefined>
  /** For `WWW-Authenticate`, where the scheme has one. */
  challenge?: string
  /** Takes the secret out of a body that carries it: whoever may read messages could forge some. */
  conceal?(raw: Buffer): Buffer
  /** Answers a proven delivery that is no message. */
  handshake?(raw: Buffer): Promise<Answer | undefined>
}

/** What a verifier needs besides its options. */
export type VerifierDeps = Pick<TransportDeps, 'gateway' | 'now' | 'log'> & {
  /** How bodies are read: a field that proves one must be the field that the message has. */
  body?: BodyOption
  /** The address of this gateway, by `public-url`. */
  address?(): string | undefined
}
