import type { IncomingMessage, ServerResponse } from 'node:http'
import { stoppingError, TriviumError, toTriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import { queryOf } from '../../src/lib/http.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import type { Preset, PresetOptions } from '../deliveries/preset.ts'
import type { createRefusedDeliveries } from '../deliveries/refused-deliveries.ts'
import type { Verifier } from '../deliveries/verifier-types.ts'
import { refuseForeign } from '../options.ts'
import { type Answers, answer } from './answers.ts'
import { createChallenge } from './challenge.ts'
import type { WebhookOptions } from './config.ts'
import { answerProbe, isProbe, requireMethod } from './methods.ts'
import { createReader } from './read-delivery.ts'

/** The parts of a gateway that its requests pass through. */
export type GatewayParts = {
  verifier: Verifier
  preset: Preset | undefined
  refusedDeliveries: Pick<ReturnType<typeof createRefusedDeliveries>, 'keep'>
  answers: Answers
  /** The deliveries whose signature was correct and which are not answered yet. */
  accepting: ReturnType<typeof createInFlight>
}

/**
 * Makes the handler of requests: method, body, signature, rate limit, accept, response, in this order.
 * Only authentic requests count towards the rate limit. Nothing is acknowledged before `accept`
 * resolves. A thrown error becomes the response.
 */
export function createServe(options: WebhookOptions, deps: TransportDeps, parts: GatewayParts) {
  const { gateway, http } = deps
  const { verifier, preset, refusedDeliveries, answers, accepting } = parts
  const presetOptions: PresetOptions = { secret: [], ...options.verify }
  const challenge = options.challenge && createChallenge(options.challenge, presetOptions.secret[0])
  const reader = createReader(options, deps, preset, verifier)
  const requireToken = createRateLimit(options['rate-limit'], deps)
  const limit = options['max-body']
  const isUnsigned = options.verify.scheme === 'none'

  function requireProof(response: ServerResponse, reason: string | undefined) {
    if (reason === undefined) return
    if (verifier.challenge) response.setHeader('WWW-Authenticate', verifier.challenge)
    throw new TriviumError('signature_invalid', { gateway, reason })
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let stage: 'verify' | 'read' | 'accept' = 'verify'
    let raw: Buffer | undefined
    /** The id of the kept delivery, for trying another secret on it. */
    let refusedId: string | undefined
    try {
      const { method = '', url = '', headers } = request
      const greeting = preset?.greet?.(method, queryOf(request), presetOptions)
      if (typeof greeting === 'object') return answer(response, greeting)
      requireProof(response, greeting)
      if (isProbe(method)) return answerProbe(request, response, options.methods)
      if (challenge?.answerByHead(request, response)) return
      requireMethod(method, options.path, options.methods, response)
      if (isUnsigned) refuseForeign(request, http.isLocal, 'verify')
      raw = await http.readBody(request, limit, gateway)
      if (challenge?.answerByBody(request, response, raw)) return
      if (reader.isSignedUnpacked(request)) raw = await reader.decompress(request, raw)
      const delivery = { method, headers, raw, url }
      // Awaiting only promises saves a tick per request.
      const checked = verifier.check(delivery)
      const failure = checked instanceof Promise ? await checked : checked
      if (failure !== undefined) refusedId = refusedDeliveries.keep(delivery)
      requireProof(response, failure)
      raw = verifier.conceal?.(raw) ?? raw
      requireToken(response)
      if (accepting.isStopping()) throw stoppingError()
      accepting.enter()
      stage = 'read'
      const reading = reader.read(request, raw)
      const result = reading instanceof Promise ? await reading : reading
      if ('greeting' in result) return answer(response, result.greeting)
      stage = 'accept'
      const { messages, isSplit, body } = result
      const [message] = messages
      if (isSplit || !message) answers.all(response, await deps.acceptAll(messages), body)
      else answers.one(response, await deps.accept(message), message, body)
    } catch (error) {
      const { code, message: why } = toTriviumError(error)
      // `accept` reports its own refusals.
      const from = request.socket.remoteAddress
      if (stage !== 'accept') deps.refused(code, { from, why, body: raw, id: refusedId })
      throw error
    } finally {
      if (stage !== 'verify') accepting.leave()
    }
  }
}

/** Throws `rate_limited`, with `Retry-After`. */
function createRateLimit(limit: WebhookOptions['rate-limit'], { gateway, now }: TransportDeps) {
  const takeToken = createTokenBucket(limit, now)
  return (response: ServerResponse) => {
    const wait = takeToken()
    if (wait === 0) return
    response.setHeader('Retry-After', Math.ceil(wait / 1000))
    const rate = limit === 'off' ? '' : `${limit.count} deliveries in ${formatDuration(limit.per)}`
    throw new TriviumError('rate_limited', { gateway, rate })
  }
}
