import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'

/** Headers of the connection, or about how the body was packed. */
const CONNECTION =
  /^(host|connection|content-length|content-encoding|transfer-encoding|accept-encoding|keep-alive|te|upgrade|expect)$/
/** What proves a sender and can be used again: signatures cannot, they are of one body. */
const SECRET = /auth|cookie|token|secret|passw|credential|session|assertion|jwt/
const SIGNATURE = /signature|hmac|digest/

/**
 * Adds the request as it came under `data.original`, for who forwards it: method, URL, headers with signatures, and the exact body, as
 * `text`, or as `base64` where it is no UTF-8. Shared secrets (`Authorization`, `X-Gitlab-Token`) are left out.
 */
export function withOriginal(message: NewMessage, request: IncomingMessage, body: Buffer): NewMessage {
  const { method = 'POST', url = '' } = request
  const headers: JsonObject = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || CONNECTION.test(name)) continue
    if (!SECRET.test(name) || SIGNATURE.test(name)) headers[name] = value
  }
  const shown = isUtf8(body) ? { text: body.toString() } : { base64: body.toString('base64') }
  return { ...message, data: { ...message.data, original: { method, url, headers, ...shown } } }
}
