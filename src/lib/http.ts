import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { isIP } from 'node:net'

/** Answers with JSON text. Headers that are already set are sent too. */
export function answerJson(response: ServerResponse, status: number, json: string): void {
  const length = String(Buffer.byteLength(json))
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length])
  response.end(json)
}

/** Prefix of an IPv4 address on an IPv6 socket. */
const MAPPED = '::ffff:'

/** The remote address of a request. */
export function peerOf({ socket }: IncomingMessage): string {
  const { remoteAddress: address = 'unknown' } = socket
  return address.startsWith(MAPPED) ? address.slice(MAPPED.length) : address
}

/** Maximum characters of a path in the log. */
const MAX_LOGGED_PATH = 200

/**
 * Wraps a listener to log each request when it is answered or aborted, without the query, which may
 * hold a secret. `clean` redacts secrets, before the path is cut.
 */
export function logRequests(
  log: { debug(fields: object, message: string): void },
  listener: RequestListener,
  clean: (text: string) => string,
): RequestListener {
  return (request, response) => {
    const began = performance.now()
    const { method, url = '' } = request
    const [path = ''] = url.split('?', 1)
    const fields = { method, path: cutTo(clean(path), MAX_LOGGED_PATH), from: peerOf(request) }
    response.once('close', () => {
      const status = response.writableFinished ? response.statusCode : undefined
      const ms = Math.round(performance.now() - began)
      log.debug(
        { ...fields, status, ms },
        status === undefined ? 'a request was aborted' : 'a request was answered',
      )
    })
    listener(request, response)
  }
}

function cutTo(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`
}

/** The query parameters of a request. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(/\?.*/.exec(url)?.[0])
}

/** Whether an address is a loopback address, also in brackets as in a URL. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^\[|\]$/g, '').replace(MAPPED, '')
  return plain === 'localhost' || plain === '::1' || (plain.startsWith('127.') && isIP(plain) === 4)
}

/**
 * Whether a `Host` is safe from DNS rebinding: an address, localhost, a name without a dot, or
 * none.
 */
export function isLocalName(host: string | undefined): boolean {
  // `[::1]:8080` and `host:8080`
  const withoutPort = host?.replace(/^(\[.*\]|[^:]*):\d*$/, '$1')
  const name = withoutPort?.replace(/^\[|\]$/g, '')
  return !name?.includes('.') || /\.localhost$/i.test(name) || isIP(name) !== 0
}
