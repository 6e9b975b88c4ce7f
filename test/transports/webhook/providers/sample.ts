import { createHmac } from 'node:crypto'

/** What a provider sends, and how it signs it: by its own library where it has a light one, else by its documentation. */
export type Sample = {
  /** As the provider shows it. */
  secret?: string
  /** What else stands under `verify` that is one's own: addresses, topics. */
  own?: object
  body: object | string
  /** The content type; JSON if not said. */
  type?: string
  query?: string
  /** When a vector of somebody else was signed. */
  now?: number
  sign(body: string, at: number): Headers | Promise<Headers>
  /** Shows that the gateway answers what the provider asks before its first delivery. */
  handshake?(at: Handshake): Promise<void>
}

export type Headers = Record<string, string>
export type Handshake = {
  /** The address of the gateway. */
  hook: string
  at: number
  /** Signs and posts. */
  post(body: string): Promise<{ status: number; text: string }>
}

export const FORM = 'application/x-www-form-urlencoded'
export const NOW = Date.now()
export const SECRET = 'a-secret-of-the-provider'
/** The address that the test gateway has by `public-url`. */
export const ADDRESS = 'https://hooks.example.com/hooks/test'

type Encoding = 'hex' | 'base64'

export function hmac(
  text: string,
  encoding: Encoding = 'hex',
  hash = 'sha256',
  key: string | Buffer = SECRET,
) {
  return createHmac(hash, key).update(text).digest(encoding)
}

/** A provider that signs the body alone, in one header. */
export function plain(
  header: string,
  body: object,
  more: { encoding?: Encoding; hash?: string; prefix?: string } = {},
): Sample {
  const { encoding, hash, prefix = '' } = more
  return { body, sign: (text) => ({ [header]: prefix + hmac(text, encoding, hash) }) }
}

export const seconds = (at: number) => String(Math.floor(at / 1000))
