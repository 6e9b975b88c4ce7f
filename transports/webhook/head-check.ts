import type { IncomingMessage, ServerResponse } from 'node:http'
import { TriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { queryOf } from '../../src/lib/http.ts'
import type { Preset, PresetOptions } from '../deliveries/preset.ts'
import type { Verifier } from '../deliveries/verifier-types.ts'
import { requireNoWebPage } from '../options.ts'
import { answer } from './answers.ts'
import { createChallenge } from './challenge.ts'
import type { WebhookOptions } from './config.ts'
import { allowPage } from './cors.ts'
import { answerProbe, isProbe, requireMethod } from './methods.ts'

/** Requests that check an address are short. Longer bodies are deliveries. */
const MAX_BODY_BYTES = 8_192

/** Makes the checks of a request before its signature is verified. */
export function createHeadCheck(
  options: WebhookOptions,
  { gateway, http }: TransportDeps,
  { preset, verifier }: { preset: Preset | undefined; verifier: Verifier },
) {
  const presetOptions: PresetOptions = { secret: [], ...options.verify }
  const challenge = options.challenge && createChallenge(options.challenge, presetOptions.secret[0])
  const greet = preset?.greet
  const isUnsigned = options.verify.scheme === 'none'

  /** Throws `signature_invalid` if there is a reason. */
  function requireProof(response: ServerResponse, reason: string | undefined) {
    if (reason === undefined) return
    if (verifier.challenge) response.setHeader('WWW-Authenticate', verifier.challenge)
    throw new TriviumError('signature_invalid', { gateway, reason })
  }

  /**
   * Answers requests by which providers check an address, and returns true for them. Returns false
   * for deliveries. Throws for other requests.
   */
  function isAnsweredByHead(request: IncomingMessage, response: ServerResponse): boolean {
    const { method = '' } = request
    const isListed = allowPage(request, response, options)
    const greeting = greet?.(method, queryOf(request), presetOptions)
    if (typeof greeting === 'object') {
      answer(response, greeting)
      return true
    }
    requireProof(response, greeting)
    if (isProbe(method)) {
      answerProbe(request, response, options.methods)
      return true
    }
    if (challenge?.answerByHead(request, response)) return true
    requireMethod(method, options.path, options.methods, response)
    if (isUnsigned && !isListed) requireNoWebPage(request, http.isLocal, 'verify')
    return false
  }

  /** Answers requests that check an address and are recognised by their body. */
  function isAnsweredByBody(request: IncomingMessage, response: ServerResponse, raw: Buffer): boolean {
    if (raw.length === 0 || raw.length > MAX_BODY_BYTES) return false
    if (challenge?.answerByBody(request, response, raw)) return true
    const greeting = preset?.greetBody?.(raw, presetOptions)
    if (greeting) answer(response, greeting)
    return greeting !== undefined
  }

  return { requireProof, isAnsweredByHead, isAnsweredByBody }
}
