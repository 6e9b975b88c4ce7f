import type { IncomingMessage } from 'node:http'
import { TLSSocket } from 'node:tls'
import { isLocalName } from '../../lib/http.ts'

/** How a cookie is set: `path` and the lifetime in ms; a lifetime of 0 removes it. */
export type CookieScope = { path: string; lifetime: number; sameSite: 'Strict' | 'Lax' }

/**
 * Whether the browser reached the listener by HTTPS: directly, through a proxy that says so, or by the configured address. A
 * tunnel to loopback is plain HTTP, whatever that address is.
 */
export function isSecure(request: IncomingMessage, consoleUrl: string | undefined): boolean {
  const { headers, socket } = request
  const [proto = ''] = String(headers['x-forwarded-proto'] ?? '').split(',', 1)
  if (socket instanceof TLSSocket || proto.trim().toLowerCase() === 'https') return true
  if (/(?:^|[;,]\s*)proto="?https\b/i.test(headers.forwarded ?? '')) return true
  return (consoleUrl?.startsWith('https:') ?? false) && !isLocalName(headers.host)
}

/**
 * The name of a cookie. Browsers send cookies to every port of a host, so the port is part of it. `__Host-` is accepted from
 * this host by HTTPS alone: no sibling domain can plant one.
 */
export function cookieName(
  what: string,
  { headers: { host = '' } }: IncomingMessage,
  secure: boolean,
): string {
  const [, port] = /:(\d{1,5})$/.exec(host) ?? []
  return [secure ? '__Host-trivium' : 'trivium', what, port].filter(Boolean).join('-')
}

/** The value of a cookie. Undefined as well where there are several of that name: one of them was planted. */
export function readCookie({ headers }: IncomingMessage, name: string): string | undefined {
  const given = (headers.cookie ?? '').split(';').flatMap((pair) => {
    const [key = '', ...value] = pair.trim().split('=')
    return key === name ? [value.join('=')] : []
  })
  return given.length === 1 ? given[0] : undefined
}

/** The value of a `Set-Cookie` header. Scripts cannot read it. */
export function cookieHeader(name: string, value: string, scope: CookieScope, secure: boolean): string {
  const { path, lifetime, sameSite } = scope
  const age = Math.floor(lifetime / 1000)
  const header = `${name}=${value}; Path=${path}; Max-Age=${age}; HttpOnly; SameSite=${sameSite}`
  return secure ? `${header}; Secure` : header
}

/**
 * Whether a request comes from a page of this very origin, or for reading from the address bar. Browsers add these headers and
 * no script can change them. Another port of the same host is another origin.
 */
export function isOwnPage({ headers, method = 'GET' }: IncomingMessage): boolean {
  const isReading = method === 'GET' || method === 'HEAD'
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || (site === 'none' && isReading)
  // Browsers leave Sec-Fetch-Site out by plain HTTP to other machines, but send Origin with everything that changes something.
  if (origin === undefined) return isReading
  return URL.canParse(origin) && new URL(origin).host === host
}

/** Whether a browser made a request for a page. */
export function isOfBrowser({ headers }: IncomingMessage): boolean {
  return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
}
