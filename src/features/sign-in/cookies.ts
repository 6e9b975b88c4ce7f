import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { isLocalName } from '../../lib/http.ts'

/** Attributes of a cookie. `lifetime`: in ms; 0 removes it. */
export type CookieScope = { path: string; lifetime: number; sameSite: 'Strict' | 'Lax' }

/**
 * Whether the browser uses HTTPS: directly, through a proxy that says so in a header, or because
 * the configured URL does. With a local host name, such as in a tunnel, that URL does not count.
 */
export function isSecure(request: IncomingMessage, consoleUrl: string | undefined): boolean {
  const { headers, socket } = request
  const [proto = ''] = String(headers['x-forwarded-proto'] ?? '').split(',', 1)
  if (socket instanceof TLSSocket || proto.trim().toLowerCase() === 'https') return true
  if (/(?:^|[;,]\s*)proto="?https\b/i.test(headers.forwarded ?? '')) return true
  return (consoleUrl?.startsWith('https:') ?? false) && !isLocalName(headers.host)
}

/**
 * The name of a cookie. It contains the port, because browsers send cookies to every port of a
 * host. With `__Host-`, browsers accept it only from this host over HTTPS, so that sibling domains
 * cannot set it.
 */
export function cookieName(
  what: string,
  { headers: { host = '' } }: IncomingMessage,
  secure: boolean,
): string {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return [secure ? '__Host-trivium' : 'trivium', what, port].filter(Boolean).join('-')
}

/**
 * The value of a cookie. Undefined without one, and if several have the name: another site may have
 * set one of them.
 */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const values = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const [key = '', ...value] = pair.trim().split('=')
    return key === name ? [value.join('=')] : []
  })
  return values.length === 1 ? values[0] : undefined
}

/** The value of a `Set-Cookie` header. Scripts cannot read it. */
export function cookieHeader(name: string, value: string, scope: CookieScope, secure: boolean): string {
  const { path, lifetime, sameSite } = scope
  const maxAge = Math.floor(lifetime / 1000)
  const header = `${name}=${value}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=${sameSite}`
  return secure ? `${header}; Secure` : header
}

/**
 * Whether a request comes from a page of exactly this origin (port included) or, for reads, from
 * the address bar. The checked headers are from the browser, and scripts cannot change them.
 */
export function isOwnPage({ headers, method = 'GET' }: IncomingMessage): boolean {
  const isReading = method === 'GET' || method === 'HEAD'
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && isReading)
  // Over plain HTTP to other machines, browsers omit Sec-Fetch-Site, but send Origin with every
  // request that changes something.
  if (origin === undefined) return isReading
  return URL.canParse(origin) && new URL(origin).host === host
}

/** Whether a page in a browser made the request. */
export function isFromPage({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}
