import type { IncomingMessage, ServerResponse } from 'node:http'
import { stoppingError, TriviumError, toTriviumError } from '../../../src/core/errors.ts'
import type { Check, Health } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { createInFlight } from '../../../src/lib/in-flight.ts'
import { answerQuickly } from '../../../src/lib/quick-answer.ts'
import { checkedText, secretHeaderOf } from '../../deliveries/checked-secret.ts'
import { createVerifier } from '../../deliveries/verifier.ts'
import { checkProtection, requireNoWebPage } from '../../options.ts'
import { createDeliveryIngest, type EndpointParts } from './delivery-ingest.ts'

export type { EndpointParts } from './delivery-ingest.ts'

/**
 * Maximum size of a delivery relative to its mail: some contain it twice, parsed and as received,
 * and base64 makes it larger.
 */
const SIZE_FACTOR = 3
/** Bytes for the other fields of a delivery. */
const EXTRA_BYTES = 1024 * 1024
/** Refusals that `accept` reports itself. */
const REPORTED = new Set(['store_unavailable', 'overloaded'])

/**
 * Accepts mail that a provider posts, and acknowledges it once it is durable. It is processed like
 * mail of a mailbox.
 */
export function createMailEndpoint(parts: EndpointParts) {
  const { deps, webhook } = parts
  const { gateway, http, now, log } = deps
  const { path, provider, verify } = webhook
  const limit = SIZE_FACTOR * parts.options['max-size'] + EXTRA_BYTES
  const address = () => addressOf(http.publicUrl(), path)
  const verifier = createVerifier(verify, { gateway, now, log, address })
  const accepting = createInFlight()
  const closing = new AbortController()
  const ingestDelivery = createDeliveryIngest({ ...parts, limit, verifier, closing: closing.signal })
  const protection = checkProtection(http, 'webhook.verify', checkedText(verify))
  let unmount: (() => void) | undefined

  /** The body of a request whose signature is valid. Throws for other requests. */
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<Buffer> {
    const { method = '', url = '', headers } = request
    if (method !== 'POST') {
      response.setHeader('Allow', 'POST, HEAD')
      throw new TriviumError('method_not_allowed', { method, path, allowed: 'POST' })
    }
    if (verify.scheme === 'none') requireNoWebPage(request, http.isLocal, 'webhook.verify')
    const raw = await http.readBody(request, limit, gateway)
    const reason = await verifier.check({ method, headers, raw, url })
    if (reason === undefined) return raw
    if (verifier.challenge) response.setHeader('WWW-Authenticate', verifier.challenge)
    throw new TriviumError('signature_invalid', { gateway, reason })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === 'HEAD') return void response.writeHead(200).end()
    let raw: Buffer | undefined
    const refuse = (error: unknown) => {
      const { code, message: why } = toTriviumError(error)
      const body = raw?.subarray(0, EXTRA_BYTES)
      const { headers, socket } = request
      const sent = { body, headers, secretHeader: secretHeaderOf(verify) }
      if (!REPORTED.has(code)) deps.refused(code, { from: socket.remoteAddress, why, ...sent })
      throw error
    }
    raw = await receive(request, response).catch(refuse)
    if (accepting.isStopping()) throw stoppingError()
    accepting.enter()
    try {
      const { outcome, id, fault } = await ingestDelivery(request, raw).catch(refuse)
      if (fault) throw fault
      answerQuickly(response, 200, 'application/json', JSON.stringify({ outcome, ...defined({ id }) }))
    } finally {
      accepting.leave()
    }
  }

  return {
    async start(): Promise<void> {
      if (protection.warning && !http.isLocal) log.warn({ path }, protection.detail)
      unmount ??= http.mount(path, handle)
    },
    stop: (): Promise<void> => accepting.stop(),
    async close(): Promise<void> {
      unmount?.()
      closing.abort()
    },
    health: (): Health =>
      unmount ? { ok: true, detail: `${provider} posts to ${path}` } : { ok: false, detail: 'not started' },
    check: async (): Promise<Check[]> => [protection],
  }
}

function addressOf(publicUrl: string | undefined, path: string): string | undefined {
  return publicUrl && publicUrl.replace(/\/+$/, '') + path
}
