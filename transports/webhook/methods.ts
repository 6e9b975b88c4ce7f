import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'

/** The methods with which providers check an address. */
const PROBES = ['HEAD', 'OPTIONS']

export function isProbe(method: string): boolean {
  return PROBES.includes(method)
}

/**
 * Answers HEAD and OPTIONS. Trello checks the address with HEAD. CloudEvents validates it with
 * OPTIONS and expects its origin back
 * (https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md). Each delivery is
 * still verified.
 */
export function answerProbe(
  { method, headers }: IncomingMessage,
  response: ServerResponse,
  methods: readonly string[],
): void {
  response.setHeader('Allow', [...methods, ...PROBES].join(', '))
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
  response.setHeader('Allow', [...methods, ...PROBES].join(', '))
  const example = methods.includes('POST') ? `, for example: curl -d 'hello' http://HOST${path}` : ''
  const allowed = methods.join(', ') + example
  throw new TriviumError('method_not_allowed', { method, path, allowed })
}
