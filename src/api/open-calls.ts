import { TriviumError } from '../core/errors.ts'
import { isLoopback } from '../lib/http.ts'
import type { Calls } from './calls.ts'
import type { ControlDeps } from './control-deps.ts'
import { docsPage } from './docs-page.ts'
import { OPEN, OPEN_RESULT, openApi } from './openapi.ts'
import { proofOf } from './token.ts'

/**
 * Calls without a token: health, metrics, the API description, and a proof for the command line.
 * Metrics contain counts and names of the configuration, but no messages. So Prometheus needs no
 * secret.
 */
export function addOpenCalls({ serve, described }: Calls, deps: ControlDeps): void {
  serve('get /readyz', 'The daemon accepts messages; 503 if not.', OPEN, async (_request, response) => {
    const ready = await deps.ready()
    response.status(ready.ok ? 200 : 503).json(ready)
  })
  serve('get /metrics', 'Metrics for Prometheus.', OPEN, async (_request, response) => {
    const { type, body } = await deps.metrics()
    response.type(type).send(body)
  })
  const description = () => openApi(deps.version, described, deps.skills())
  serve('get /openapi.json', 'This description.', OPEN, (_request, response) => {
    response.json(description())
  })
  serve('get /docs', 'This API description as a page.', OPEN, (_request, response) => {
    response.type('html').send(docsPage(description()))
  })
  const proof = 'Proves to a local program that the daemon knows the token.'
  serve('get /v1/proof/{nonce}', proof, OPEN_RESULT, (request, response) => {
    // For the local command line only: remote clients could brute-force a short token offline.
    const { localAddress, remoteAddress = '' } = request.socket
    const isFromThisMachine = isLoopback(remoteAddress) || remoteAddress === localAddress
    const isDirect = Object.keys(request.headers).every((name) => LOCAL_HEADERS.includes(name))
    if (!isFromThisMachine || !isDirect) throw new TriviumError('unauthorized')
    response.json({ result: proofOf(deps.token(), String(request.params.nonce)) })
  })
}

/**
 * The headers that the command line and simple clients send. Any other header may come from a
 * proxy, a tunnel or a web page, whose client may be on another machine.
 */
const LOCAL_HEADERS = [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'connection',
  'content-type',
  'host',
  'sec-fetch-mode',
  'user-agent',
]
