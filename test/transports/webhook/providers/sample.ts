import { createHmac } from 'node:crypto'

/**
 * A delivery of a provider, signed by its own library if that is small, else as its documentation
 * says.
 */
export type Sample = {
  /** In the form in which the provider shows it. Default: `SECRET`. */
  secret?: string
  /** Further options of `verify` that depend on the user: addresses, topics. */
  userOptions?: object
  body: object | string
  /** The content type. Default: JSON. */
  type?: string
  query?: string
  /** Time at which the sample was signed, in ms. Default: `NOW`. */
  now?: number
  /**
   * What of the provider the sample was compared with: its library, a test vector, an example. If
   * the text names a version, that release accepted the sample once, by hand, and refused a changed
   * body.
   */
  comparedWith?: string
  sign(body: string, at: number): Headers | Promise<Headers>
  /**
   * Asserts that the gateway answers the check that the provider sends before its first delivery.
   */
  handshake?(context: Handshake): Promise<void>
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
/** The address of the test gateway with the `publicUrl` of the tests. */
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

/** The sample of a provider that signs only the body, in one header. */
export function plain(
  header: string,
  body: object,
  more: { encoding?: Encoding; hash?: string; prefix?: string } = {},
): Sample {
  const { encoding, hash, prefix = '' } = more
  return { body, sign: (text) => ({ [header]: prefix + hmac(text, encoding, hash) }) }
}

export const seconds = (at: number) => String(Math.floor(at / 1000))
