import type { IncomingMessage, ServerResponse } from 'node:http'
import { listsOrigin } from '../options.ts'

/** How long (s) a browser may remember what is allowed. */
const MAX_AGE_SECONDS = 600
/** Names of headers, as browsers ask for them. */
const HEADER_NAMES = /^[\w-]{1,100}(?:\s*,\s*[\w-]{1,100}){0,50}$/

/**
 * Sets the headers that let web pages of these origins read the response, also of preflight
 * requests (https://fetch.spec.whatwg.org/#http-cors-protocol). Does not allow cookies. Returns
 * whether the request is from one of these pages.
 */
export function allowPage(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  { origins, methods }: { origins: readonly string[]; methods: readonly string[] },
): boolean {
  if (origins.length === 0) return false
  const { origin } = headers
  const isEveryone = origins.includes('*')
  if (!isEveryone) response.setHeader('Vary', 'Origin')
  if (origin === undefined || !listsOrigin(origins, origin)) return false
  response.setHeader('Access-Control-Allow-Origin', isEveryone ? '*' : origin)
  response.setHeader('Access-Control-Expose-Headers', 'Retry-After')
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return true
  response.setHeader('Access-Control-Allow-Methods', methods.join(', '))
  response.setHeader('Access-Control-Max-Age', MAX_AGE_SECONDS)
  const asked = headers['access-control-request-headers'] ?? ''
  if (HEADER_NAMES.test(asked)) response.setHeader('Access-Control-Allow-Headers', asked)
  return true
}
