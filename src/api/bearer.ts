import { isDeepStrictEqual } from 'node:util'
import type { Request, RequestHandler, Response } from 'express'
import type { Caller, InvokeOptions } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isViewer } from '../core/identity.ts'
import { isLocalName, isLoopback } from '../lib/http.ts'
import { createSecretCheck } from '../lib/secrets.ts'
import type { ControlDeps } from './control-deps.ts'

/** Interval (ms) for rechecking the rights of a waiting call. */
const LOOK_AGAIN = 1_000

/** The caller of a request. Its signal aborts when the connection closes, so that waits end with their client. */
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
    caller: bearer.skills
      ? { kind: 'http', ...bearer }
      : { kind: client ? 'cli' : 'http', id: client ?? 'control', ...bearer },
    signal: abort.signal,
    nonlocals: { request: { headers } },
  }
}

/** The bearer of a token, with their rights. */
export type Bearer = Omit<Caller, 'kind'>
export type BearerOf = (request: Request) => Promise<Bearer | undefined>

export const OPERATOR: Bearer = { roles: ['operator'] }

/** Makes a function that returns the bearer of a request, or undefined without a valid token. */
export function createBearerCheck({ token, tokens }: Pick<ControlDeps, 'token' | 'tokens'>) {
  return (request: Request): Bearer | undefined => {
    const known = tokens()
    const indexOf = createSecretCheck([token, ...known.map((each) => each.token)])
    const [scheme, given = ''] = (request.get('authorization') ?? '').split(' ')
    const index = scheme?.toLowerCase() === 'bearer' ? indexOf(given) : -1
    if (index === 0) return OPERATOR
    const program = known[index - 1]
    if (!program) return undefined
    const { name, skills, gateways } = program
    return { id: `token:${name}`, skills, ...(gateways.includes('*') ? {} : { gateways }) }
  }
}

/** Requires a token. Responses have no CORS headers, so pages of other origins cannot read them. */
export function requireToken(bearerOf: BearerOf): RequestHandler {
  return async (request, response, next) => {
    const bearer = await bearerOf(request)
    if (!bearer) throw new TriviumError('unauthorized')
    response.locals.bearer = bearer
    if (bearer !== OPERATOR) {
      // Long waits end when the caller loses the right to them.
      const hangUp = async () => isDeepStrictEqual(await bearerOf(request), bearer) || response.destroy()
      const looking = setInterval(() => void hangUp().catch(() => undefined), LOOK_AGAIN)
      response.once('close', () => clearInterval(looking))
    }
    next()
  }
}

export function isOperator(bearer: Bearer | undefined): boolean {
  return bearer?.roles?.includes('operator') ?? false
}

export function bearerIn(response: Response): Bearer {
  return response.locals.bearer
}

export const requireControlToken: RequestHandler = (request, response, next) => {
  const bearer = bearerIn(response)
  const { skills, id } = bearer
  if (!skills || (isViewer(bearer) && isReading(request))) return next()
  const what = `${request.method} ${request.path} for ${id}`
  throw new TriviumError('forbidden', {
    what,
    reason: 'it needs the control token; `tokens` can only call skills',
  })
}

function isReading({ method, path }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || path === '/v1/explain'
}

/** Calls without a token are for this machine. A DNS-rebinding page can reach 127.0.0.1, but its requests carry its own host name. */
export function refuseRebinding(bearerOf: BearerOf): RequestHandler {
  return async (request, _response, next) => {
    const isLocal = isLoopback(request.socket.localAddress ?? '')
    if (isLocal && !isLocalName(request.hostname) && !(await bearerOf(request))) {
      throw new TriviumError('forbidden', {
        what: `Asking for ${request.baseUrl} by the name ${request.hostname}`,
        reason: 'use localhost or the address, or give the control token',
      })
    }
    next()
  }
}
