import { isIP } from 'node:net'
import type { Agent } from 'undici'
import type { McpServer } from '../../core/mcp.ts'
import { isPrivateAddress } from '../../lib/private-address.ts'
import { privateRefusal, publicLookup } from '../../lib/public-lookup.ts'

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

const MAX_REDIRECTS = 3
/** Timeout (ms) of requests by a login to other servers. */
const LOGIN_TIMEOUT = 30_000

/**
 * The fetch function for one MCP server. Only its origin gets the configured headers, and it may
 * not redirect to other origins. During a login, the MCP server names further servers to contact.
 * Those do not get the headers, and must have public addresses unless the MCP server is private or
 * `allow-private` is set.
 */
export function createGuardedFetch(
  server: { url: string } & Pick<McpServer, 'headers' | 'allowPrivate'>,
): Fetch {
  const { url: own, headers = {}, allowPrivate } = server
  const { origin, hostname } = new URL(own)
  const mayBePrivate = allowPrivate || isPrivateName(hostname)
  const isOwn = (url: URL) => url.origin === origin
  const fetchPublic = createPublicFetch()

  const step = (url: URL, init: RequestInit): Promise<Response> => {
    if (isOwn(url)) {
      const all = new Headers(init.headers)
      for (const [name, value] of Object.entries(headers)) if (!all.has(name)) all.set(name, value)
      return fetch(url, { ...init, headers: all, redirect: 'manual' })
    }
    const signal = AbortSignal.any([
      AbortSignal.timeout(LOGIN_TIMEOUT),
      ...(init.signal ? [init.signal] : []),
    ])
    const elsewhere = { ...init, signal, redirect: 'manual' as const }
    return mayBePrivate ? fetch(url, elsewhere) : fetchPublic(url, elsewhere)
  }

  return async (start, init = {}) => {
    let url = new URL(start)
    const method = init.method ?? 'GET'
    for (let redirects = 0; ; redirects++) {
      const response = await step(url, init)
      const to = movedTo(response, url)
      if (!to) return response
      await response.body?.cancel()
      const isSameOrigin = to.origin === url.origin
      // A redirect to another origin is followed only for GET requests to other servers. Answers
      // of the MCP server itself must come from its origin.
      const mayLeave = method === 'GET' && !isOwn(url)
      const mayFollow = redirects < MAX_REDIRECTS && (isSameOrigin || mayLeave)
      if (!mayFollow)
        throw new Error(`${url.origin} redirects to ${to.origin}${to.pathname}; write the final address`)
      url = to
    }
  }
}

/**
 * Makes a fetch function for untrusted URLs: https and public addresses only, checked after DNS
 * resolution.
 */
function createPublicFetch() {
  let agent: Agent | undefined
  return async (url: URL, init: RequestInit): Promise<Response> => {
    if (url.protocol !== 'https:')
      throw new Error(`${url.origin} is not https; set \`allow-private: true\` to allow it`)
    // The look-up below checks names only: Node does not call it for literal addresses.
    if (isPrivateName(url.hostname)) throw new Error(privateRefusal(url.host))
    // Loaded on first use: most logins stay on their server.
    const { Agent, fetch } = await import('undici')
    agent ??= new Agent({ connect: { lookup: publicLookup } })
    const { body, headers, method = 'GET', signal } = init
    const response = await fetch(url, {
      dispatcher: agent,
      method,
      headers: [...new Headers(headers)],
      redirect: 'manual',
      ...(typeof body === 'string' || body instanceof URLSearchParams ? { body } : {}),
      ...(signal ? { signal } : {}),
    })
    const { status, url: from } = response
    // The MCP SDK expects Node's own Response class.
    const made = new Response(response.body, { status, headers: [...response.headers] })
    Object.defineProperty(made, 'url', { value: from })
    return made
  }
}

/** Whether the text of a host name or address shows that it is not public. */
function isPrivateName(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase()
  if (isIP(host)) return isPrivateAddress(host)
  return !host.includes('.') || /\.(localhost|local|internal|lan|home\.arpa|test)$/.test(host)
}

function movedTo(response: Response, from: URL): URL | undefined {
  const location = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
  return location !== null && URL.canParse(location, from) ? new URL(location, from) : undefined
}
