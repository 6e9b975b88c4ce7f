import { isDeepStrictEqual } from 'node:util'
import type { Request, RequestHandler, Response } from 'express'
import type { Caller, InvokeOptions } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isViewer } from '../core/identity.ts'
import { VIEWER_LIMIT } from '../core/viewer-role.ts'
import { isLocalName, isLoopback, peerOf } from '../lib/http.ts'
import { createSecretCheck } from '../lib/secrets.ts'
import type { ControlDeps } from './control-deps.ts'

/** Interval (ms) at which the rights of a running call are checked again. */
const RECHECK_INTERVAL = 1_000

/**
 * The caller of a request. The signal aborts when the connection closes, so that a waiting call
 * ends with its client.
 */
export function callerOf(
  request: Request,
  bearer: Bearer,
): InvokeOptions & { caller: Caller; signal: AbortSignal } {
  const abort = new AbortController()
  request.res?.on('close', () => {
    abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'the caller disconnected' }))
  })
  const client = request.get('x-trivium-client')
  const { authorization: _authorization, cookie: _cookie, ...headers } = request.headers
  return {
    caller: isOperator(bearer)
      ? { kind: client ? 'cli' : 'http', id: client ?? 'control', ...bearer }
      : { kind: 'http', ...bearer },
    signal: abort.signal,
    nonlocals: { request: { headers, address: peerOf(request) } },
  }
}

/** The caller that a token or cookie stands for, with their rights. Operators have no `skills`. */
export type Bearer = Omit<Caller, 'kind'>
export type BearerOf = (request: Request) => Promise<Bearer | undefined>

export const OPERATOR: Bearer = { roles: ['operator'] }

/** Makes a function that returns the bearer of a request, or undefined without a valid token. */
export function createBearerCheck({ token, tokens }: Pick<ControlDeps, 'token' | 'tokens'>) {
  return (request: Request): Bearer | undefined => {
    const programs = tokens()
    // The control token is the first; the tokens of programs follow.
    const indexOf = createSecretCheck([token(), ...programs.map((each) => each.token)])
    const [scheme, secret = ''] = (request.get('authorization') ?? '').split(' ')
    const index = scheme?.toLowerCase() === 'bearer' ? indexOf(secret) : -1
    if (index === 0) return OPERATOR
    const program = programs[index - 1]
    if (!program) return undefined
    const { name, skills, gateways } = program
    return { id: `token:${name}`, skills, ...(gateways.includes('*') ? {} : { gateways }) }
  }
}

/**
 * Requires a token or cookie. Responses have no CORS headers, so pages of other origins cannot read
 * them.
 */
export function requireToken(bearerOf: BearerOf): RequestHandler {
  return async (request, response, next) => {
    const bearer = await bearerOf(request)
    if (!bearer) throw new TriviumError('unauthorized')
    response.locals.bearer = bearer
    if (bearer !== OPERATOR) {
      // Long waits end when the caller loses the right to them.
      const recheck = async () => {
        if (!isDeepStrictEqual(await bearerOf(request), bearer)) response.destroy()
      }
      const timer = setInterval(() => void recheck().catch(() => undefined), RECHECK_INTERVAL)
      response.once('close', () => clearInterval(timer))
    }
    next()
  }
}

export function isOperator(bearer: Bearer | undefined): boolean {
  return bearer?.roles?.includes('operator') ?? false
}

/** The bearer that `requireToken` found for the request. */
export function bearerIn(response: Response): Bearer {
  return response.locals.bearer
}

/** Requires an operator. Viewers may only read. `refused` is called before a caller gets `forbidden`. */
export function requireOperator(
  refused: (request: Request, bearer: Bearer, error: TriviumError) => Promise<void>,
): RequestHandler {
  return async (request, response, next) => {
    const bearer = bearerIn(response)
    if (isOperator(bearer) || (isViewer(bearer) && isReading(request))) return next()
    const error = new TriviumError('forbidden', {
      what: `${request.method} ${request.path} for ${bearer.id}`,
      reason: isViewer(bearer) ? VIEWER_LIMIT : PROGRAM_LIMIT,
    })
    await refused(request, bearer, error)
    throw error
  }
}

/** Why a call of a program was refused. */
const PROGRAM_LIMIT = 'it needs the control token; `tokens` can only call skills'

/** Calls with a body that only read. */
const READING = ['/v1/explain', '/v1/draft']

/** Whether a request changes nothing. */
function isReading({ method, path }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || READING.includes(path)
}

/**
 * Protects the calls that need no token on this machine: web pages must not make them. By DNS
 * rebinding, a page can reach 127.0.0.1, but its requests have the host name of the page.
 */
export function refuseRebinding(bearerOf: BearerOf): RequestHandler {
  return async (request, _response, next) => {
    const isLocal = isLoopback(request.socket.localAddress ?? '')
    if (isLocal && !isLocalName(request.hostname) && !(await bearerOf(request))) {
      throw new TriviumError('forbidden', {
        what: `Asking for ${request.baseUrl} by the name ${request.hostname}`,
        reason: 'use localhost or the address, or give a token',
      })
    }
    next()
  }
}
