import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'

const ALLOWED = ['HEAD', 'OPTIONS']

/** True for the methods with which providers check an address. */
export function isProbe(method: string): boolean {
  return method === 'HEAD' || method === 'OPTIONS'
}

/**
 * Answers HEAD and OPTIONS, with which providers check the address (Trello) or validate it:
 * CloudEvents expects its origin back
 * (https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md). Each delivery is
 * still verified.
 */
export function answerProbe(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  methods: readonly string[],
): void {
  response.setHeader('Allow', [...methods, ...ALLOWED].join(', '))
  const origin = headers['webhook-request-origin']
  if (method === 'OPTIONS' && typeof origin === 'string') {
    response.setHeader('WebHook-Allowed-Origin', origin)
    response.setHeader('WebHook-Allowed-Rate', '*')
  }
  response.writeHead(method === 'HEAD' ? 200 : 204).end()
}

/** Throws `method_not_allowed`, with `Allow`. */
export function requireMethod(
  method: string,
  path: string,
  methods: readonly string[],
  response: ServerResponse,
): void {
  if (methods.includes(method)) return
  response.setHeader('Allow', [...methods, ...ALLOWED].join(', '))
  const example = methods.includes('POST') ? `, for example: curl -d 'hello' http://HOST${path}` : ''
  const allowed = methods.join(', ') + example
  throw new TriviumError('method_not_allowed', { method, path, allowed })
}
