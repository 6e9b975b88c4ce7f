import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { TriviumError } from '../../src/core/errors.ts'

/** Answers a request for an upgrade with an error, as any other request, and hangs up. */
export function refuseUpgrade(socket: Duplex, error: TriviumError): void {
  if (!socket.writable) return void socket.destroy()
  const body = JSON.stringify({ error: { code: error.code, message: error.message } })
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    ...(error.status === 401 ? ['www-authenticate: Bearer'] : []),
    ...(error.retryable ? ['retry-after: 5'] : []),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}
