import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'

/** Answers with JSON text, beside the headers that are set already. */
export function answerJson(response: ServerResponse, status: number, json: string): void {
  const length = String(Buffer.byteLength(json))
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length])
  response.end(json)
}

/** The address of whoever sends a request. */
export function peerOf({ socket }: IncomingMessage): string {
  return socket.remoteAddress?.replace(/^::ffff:/, '') ?? 'unknown'
}

/** What stands behind `?` in the address of a request. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(/\?.*/.exec(url)?.[0])
}

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  const plain = address.replace('::ffff:', '')
  return plain === 'localhost' || plain === '::1' || (plain.startsWith('127.') && isIP(plain) === 4)
}

/** Whether a name (`Host`) is one that no stranger can point here (DNS rebinding): an address, localhost, without a dot, or no name. */
export function isLocalName(host: string | undefined): boolean {
  const name = host?.replace(/^(\[.*\]|[^:]*):\d*$/, '$1').replace(/^\[|\]$/g, '')
  return !name?.includes('.') || /\.localhost$/i.test(name) || isIP(name) !== 0
}
