import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { JsonObject } from '../../src/core/json.ts'
import type { NewMessage } from '../../src/core/message.ts'
import type { Verify } from '../deliveries/verify.ts'

/** Headers about the connection or the compression of the body. */
const CONNECTION =
  /^(host|connection|content-length|content-encoding|transfer-encoding|accept-encoding|keep-alive|te|upgrade|expect)$/
/** Credentials that can be reused. Signatures cannot, because they belong to one body. */
const SECRET =
  /auth|cookie|token|secret|passw|credential|session|assertion|jwt|(api|access|shared|private)[-_]?key$/i
const SIGNATURE = /signature|hmac|digest/
const HIDDEN = 'redacted'

/**
 * Adds the original request as `data.original`, for forwarding: method, URL, headers with signatures, and the
 * exact body, as `text`, or as `base64` if it is not UTF-8. Shared secrets (`Authorization`,
 * `X-Gitlab-Token`, the header of `verify: { scheme: header }`) are omitted, and query parameters with such
 * names are redacted.
 */
export function withOriginal(
  message: NewMessage,
  request: IncomingMessage,
  body: Buffer,
  verify: Verify,
): NewMessage {
  const { method = 'POST', url = '' } = request
  const own = verify.scheme === 'header' ? verify.header : undefined
  const headers: JsonObject = {}
  for (const [name, value] of Object.entries(request.headers)) {
    if (value === undefined || name === own || CONNECTION.test(name)) continue
    if (!isSecret(name)) headers[name] = value
  }
  const shown = isUtf8(body) ? { text: body.toString() } : { base64: body.toString('base64') }
  return {
    ...message,
    data: { ...message.data, original: { method, url: withoutSecrets(url), headers, ...shown } },
  }
}

function isSecret(name: string): boolean {
  return SECRET.test(name) && !SIGNATURE.test(name)
}

/** The rest of a URL is unchanged, because signatures cover it. */
function withoutSecrets(url: string): string {
  return url.replace(/([?&])([^=&#]*)=[^&#]*/g, (all, before, name) =>
    isSecret(readable(name)) ? `${before}${name}=${HIDDEN}` : all,
  )
}

function readable(name: string): string {
  return [...new URLSearchParams(`${name}=`).keys()].join()
}
