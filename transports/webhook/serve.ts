import type { ServerResponse } from 'node:http'
import { stoppingError, TriviumError } from '../../src/core/errors.ts'
import type { RequestHandler, TransportDeps } from '../../src/core/transport.ts'
import { formatDuration } from '../../src/core/units.ts'
import type { createInFlight } from '../../src/lib/in-flight.ts'
import { createTokenBucket } from '../../src/lib/token-bucket.ts'
import { secretHeaderOf } from '../deliveries/checked-secret.ts'
import type { Preset } from '../deliveries/preset.ts'
import type { createRefusedDeliveries } from '../deliveries/refused-deliveries.ts'
import type { Delivery, Verifier } from '../deliveries/verifier-types.ts'
import { type Answers, answer } from './answers.ts'
import type { WebhookOptions } from './config.ts'
import { createHeadCheck } from './head-check.ts'
import { createReader, type Outcome } from './read-delivery.ts'
import { createSteps, type Visit } from './steps.ts'

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
 * Makes the handler of requests. Each request passes the steps below in this order: method, body,
 * signature, rate limit, reading, accept, response. Only authentic requests count towards the rate
 * limit. Nothing is acknowledged before `accept` resolves. A thrown error becomes the response.
 * Steps are functions instead of one `async` function, whose promises would cost each request
 * several ticks.
 */
export function createServe(
  options: WebhookOptions,
  deps: TransportDeps,
  parts: GatewayParts,
): RequestHandler {
  const { gateway, http } = deps
  const { verifier, preset, refusedDeliveries, answers, accepting } = parts
  const { requireProof, isAnsweredByHead, isAnsweredByBody } = createHeadCheck(options, deps, parts)
  const reader = createReader(options, deps, preset, verifier)
  const requireToken = createRateLimit(options['rate-limit'], deps)
  const bodyLimit = { limit: options['max-body'], gateway }
  const { run, proceed, fail } = createSteps(deps, secretHeaderOf(options.verify), accepting)

  function begin(visit: Visit) {
    const { request, response } = visit
    if (isAnsweredByHead(request, response)) return
    const take = (raw: Buffer) => run(visit, withBody, raw)
    http.takeBody(request, bodyLimit, take, (error) => fail(visit, error))
  }

  function withBody(visit: Visit, raw: Buffer) {
    const { request, response } = visit
    visit.raw = raw
    if (isAnsweredByBody(request, response, raw)) return
    if (reader.isSignedUnpacked(request)) proceed(visit, reader.decompress(request, raw), verify)
    else verify(visit, raw)
  }

  function verify(visit: Visit, raw: Buffer) {
    const { method = '', url = '', headers } = visit.request
    visit.raw = raw
    const delivery = { method, headers, raw, url }
    const failure = verifier.check(delivery)
    if (failure === undefined) read(visit, raw)
    else proceed(visit, failure, (_, found) => refuseOrRead(visit, delivery, found))
  }

  function refuseOrRead(visit: Visit, delivery: Delivery, failure: string | undefined) {
    if (failure !== undefined) visit.refusedId = refusedDeliveries.keep(delivery)
    requireProof(visit.response, failure)
    read(visit, delivery.raw)
  }

  function read(visit: Visit, signed: Buffer) {
    const raw = verifier.conceal?.(signed, visit.request.headers) ?? signed
    visit.raw = raw
    requireToken(visit.response)
    if (accepting.isStopping()) throw stoppingError()
    accepting.enter()
    visit.stage = 'read'
    proceed(visit, reader.read(visit.request, raw), accept)
  }

  function accept(visit: Visit, result: Outcome) {
    const { response } = visit
    if ('greeting' in result) {
      answer(response, result.greeting)
      return accepting.leave()
    }
    visit.stage = 'accept'
    const { messages, isSplit, body } = result
    const [message] = messages
    if (isSplit || !message) {
      return proceed(visit, deps.acceptAll(messages), (_, accepted) => {
        answers.all(response, accepted, body)
        accepting.leave()
      })
    }
    proceed(visit, deps.accept(message), (_, accepted) => {
      answers.one(response, accepted, message, body)
      accepting.leave()
    })
  }

  return (request, response) => {
    run({ request, response, stage: 'verify', raw: undefined, refusedId: undefined }, begin, undefined)
  }
}

/** Throws `rate_limited`, with `Retry-After`. */
function createRateLimit(limit: WebhookOptions['rate-limit'], { gateway, now }: TransportDeps) {
  if (limit === 'off') return () => {}
  const takeToken = createTokenBucket(limit, now)
  return (response: ServerResponse) => {
    const wait = takeToken()
    if (wait === 0) return
    response.setHeader('Retry-After', Math.ceil(wait / 1000))
    const rate = `${limit.count} deliveries in ${formatDuration(limit.per)}`
    throw new TriviumError('rate_limited', { gateway, rate })
  }
}
