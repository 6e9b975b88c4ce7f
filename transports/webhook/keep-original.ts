import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Verify } from '../deliveries/verify.ts'

/** Headers about the connection or the compression of the body. */
const CONNECTION =
  /^(host|connection|content-length|content-encoding|transfer-encoding|accept-encoding|keep-alive|te|upgrade|expect)$/
/** Names of credentials that can be reused. Signatures cannot, because they belong to one body. */
const SECRET =
  /auth|cookie|token|secret|passw|credential|session|assertion|jwt|(api|access|shared|private)[-_]?key$/i
const SIGNATURE = /signature|hmac|digest/
const REDACTED = 'redacted'

/**
 * Adds the original request as `data.original`, for forwarding: method, URL, headers with
 * signatures, and the exact body as `text`, or as `base64` if it is not UTF-8. Headers with shared
 * secrets (`Authorization`, `X-Gitlab-Token`, the header of `verify: { scheme: header }`) or with a
 * token for any body are omitted, and query parameters with such names are redacted.
 */
export function withOriginal(
  message: NewMessage,
  request: IncomingMessage,
  body: Buffer,
  verify: Verify,
): NewMessage {
  const { method = 'POST', url = '' } = request
  const secretHeader = credentialHeader(verify)
  const secretParameter = verify.scheme === 'query' ? verify.name : undefined
  const headers: JsonObject = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name === secretHeader || CONNECTION.test(name)) continue
    if (!isSecret(name)) headers[name] = value
  }
  const content = isUtf8(body) ? { text: body.toString() } : { base64: body.toString('base64') }
  const original = { method, url: withoutSecrets(url, secretParameter), headers, ...content }
  return { ...message, data: { ...message.data, original } }
}

/** The configured header with a credential that can be reused for another body. */
function credentialHeader(verify: Verify): string | undefined {
  if (verify.scheme === 'header') return verify.header
  if (verify.scheme !== 'jwt' || verify.detached || verify['body-hash'] !== undefined) return undefined
  return verify.header
}

function isSecret(name: string): boolean {
  return SECRET.test(name) && !SIGNATURE.test(name)
}

/**
 * Redacts secret query parameters. The rest of the URL is unchanged, because signatures cover it.
 */
function withoutSecrets(url: string, secretParameter: string | undefined): string {
  const isHidden = (name: string) => name === secretParameter || isSecret(name)
  return url.replace(/([?&])([^=&#]*)=[^&#]*/g, (pair, separator, name) =>
    isHidden(decodedName(name)) ? `${separator}${name}=${REDACTED}` : pair,
  )
}

/** The name of a query parameter without percent-encoding. */
function decodedName(name: string): string {
  return [...new URLSearchParams(`${name}=`).keys()].join()
}
