import { createPublicKey, type KeyObject } from 'node:crypto'

/** Encodings of secrets in routes.yaml. */
export const SECRET_ENCODINGS = ['text', 'hex', 'base64'] as const
type SecretEncoding = (typeof SECRET_ENCODINGS)[number]

/** Decodes a secret to a key. Throws for an invalid encoding. */
export function keyOfSecret(text: string, encoding: SecretEncoding): Buffer {
  if (encoding === 'text') return Buffer.from(text)
  if (encoding === 'base64') return standardKey(text)
  if (!/^([\da-f]{2})+$/i.test(text.trim())) throw new TypeError('not hex')
  return Buffer.from(text.trim(), 'hex')
}

/**
 * Decodes a Standard Webhooks secret: base64 after `whsec_` or, as shown by Supabase, `v1,whsec_`.
 * Throws for anything else.
 */
export function standardKey(text: string): Buffer {
  const encoded = text.trim().replace(/^(v1,)?whsec_/, '')
  if (!/^[\w+/-]+={0,2}$/.test(encoded)) throw new TypeError('not base64')
  return Buffer.from(encoded, 'base64')
}

/** Reads a public key in Discord's form: 32 bytes in hex. Throws for anything else. */
export function ed25519Key(hex: string): KeyObject {
  const x = Buffer.from(hex.trim(), 'hex').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** Reads a public key in SendGrid's form: DER in base64, or PEM. Throws for anything else. */
export function publicKey(text: string): KeyObject {
  if (text.includes('-----BEGIN')) return createPublicKey(text)
  return createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' })
}

/**
 * Reads a public key in any form that providers show: PEM, DER in base64, or the 32 bytes of
 * Ed25519 in hex or base64.
 */
export function anyPublicKey(text: string): KeyObject {
  const bare = text.trim()
  if (/^[\da-f]{64}$/i.test(bare)) return ed25519Key(bare)
  const raw = Buffer.from(bare, 'base64')
  return raw.length === 32 ? ed25519Key(raw.toString('hex')) : publicKey(bare)
}

/** The keys in options: the public key, or a key for each secret. */
export function keysIn(options: {
  secret?: string[]
  'secret-encoding': SecretEncoding
  'public-key'?: string
}): (KeyObject | Buffer)[] {
  const { secret = [], 'secret-encoding': encoding, 'public-key': key } = options
  return key === undefined ? secret.map((text) => keyOfSecret(text, encoding)) : [publicKey(key)]
}
