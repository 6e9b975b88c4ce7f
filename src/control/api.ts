import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import { z } from 'zod'
import type { Caller, ProgramToken } from '../core/call.ts'
import { errorBody, reasonOf, TriviumError, toTriviumError } from '../core/errors.ts'
import { mayAskFor, requireAskFor } from '../core/identity.ts'
import { type Json, pathGet, toJson } from '../core/json.ts'
import { type Submission, submissionSchema } from '../core/message.ts'
import type { ArtifactService } from '../core/services.ts'
import { isLocalName, isLoopback } from '../lib/http.ts'
import { createSecretCheck } from '../lib/secrets.ts'
import { isShallow } from '../lib/shallow.ts'
import { docsPage, openApi } from './openapi.ts'
import { proofOf } from './token.ts'

/** What the control API offers to those who hold the token. */
export type ControlDeps = {
  token: string
  /** The tokens of programs that are valid now. */
  tokens(): readonly ProgramToken[]
  /** Runs a skill for a caller; each call is an invocation of its own. */
  invoke(name: string, args: unknown, by: ControlCaller): Promise<unknown>
  skills(): Json
  version: string
  /** What a skill takes and the layers around it. Throws `skill_not_found`. */
  describe(name: string): Json
  status(): Promise<Json>
  /** Checks the store and every running gateway. */
  doctor(): Promise<Json>
  /** Puts a message through a gateway as if it had come from outside; waits `wait` ms for replies. */
  submit(submission: Submission, signal: AbortSignal): Promise<Json>
  explain(messageId: string): Promise<Json>
  reload(): Promise<Json>
  artifacts: ArtifactService
  /** The store answers and both listeners listen; the reason where not. */
  ready(): Promise<{ ok: boolean; detail: Json }>
  metrics(): Promise<{ type: string; body: string }>
  /** Model Context Protocol over streamable HTTP. */
  mcp?(request: Request, response: Response, caller: Caller): unknown
}

export type ControlCaller = {
  caller: Caller
  signal: AbortSignal
  headers: Record<string, string>
}

const SUBMISSION = toJson(z.toJSONSchema(submissionSchema, { io: 'input' }))

const BODY_LIMIT = '4mb'
/** Ms; whether the token of a program is still valid while its call waits. */
const LOOK_AGAIN = 1_000
/** The operator console: static files that ask for the token and then call this API. */
const CONSOLE = fileURLToPath(new URL('./console', import.meta.url))

/**
 * The control listener: API, metrics, health and console. All but health, metrics and its own description needs a
 * token: that of a program for its skills, and the control token for the rest.
 */
export function createControlApi(deps: ControlDeps): Express {
  const app = express()
  const bearerOf = createBearerCheck(deps)
  const fromHere = refuseRebinding(bearerOf)
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(securityHeaders)

  app.get('/healthz', (_request, response) => {
    response.json({ ok: true })
  })
  app.get('/readyz', fromHere, async (_request, response) => {
    const ready = await deps.ready()
    response.status(ready.ok ? 200 : 503).json(ready)
  })
  app.get('/metrics', fromHere, async (_request, response) => {
    const { type, body } = await deps.metrics()
    response.type(type).send(body)
  })
  const description = () => openApi(deps.version, deps.skills(), SUBMISSION)
  app.get('/openapi.json', fromHere, (_request, response) => {
    response.json(description())
  })
  app.get('/docs', fromHere, (_request, response) => {
    response.type('html').send(docsPage(description()))
  })
  app.get('/v1/proof/:nonce', fromHere, (request, response) => {
    if (!isFromHere(request)) throw new TriviumError('unauthorized')
    response.json({ result: proofOf(deps.token, String(request.params.nonce)) })
  })
  app.use(express.static(CONSOLE, { etag: false, lastModified: false }))

  app.use(requireToken(bearerOf))
  const { mcp } = deps
  if (mcp) {
    app.all('/mcp', express.json({ limit: BODY_LIMIT }), async (request, response) => {
      const bearer = bearerIn(response)
      await mcp(request, response, { kind: 'mcp', ...(bearer.skills && bearer) })
    })
  }
  app.post(
    '/v1/artifacts',
    answering((request, bearer) => {
      requireAskFor(bearer, 'gateway-send')
      const type = request.get('content-type') ?? 'application/octet-stream'
      const name = String(request.query.name ?? 'file')
      return deps.artifacts.save({ name, type, data: request }, callerOf(request, bearer))
    }),
  )
  app.get('/v1/artifacts/:sha256', async (request, response) => {
    const { message } = request.query
    const bearer = bearerIn(response)
    if (message !== undefined && !mayAskFor(bearer, 'gateway-receive')) requireAskFor(bearer, 'message-show')
    const messageId = message === undefined ? {} : { messageId: String(message) }
    const asked = { artifact: String(request.params.sha256), ...messageId }
    const file = await deps.artifacts.open(asked, callerOf(request, bearer))
    // Never shown as a page: who sent it may have been a stranger.
    response.attachment().type('application/octet-stream')
    await pipeline(file, response)
  })
  app.use(express.json({ limit: BODY_LIMIT, strict: false }), refuseDeep)
  app.get(
    '/v1/skills',
    answering((_request, bearer) =>
      Object.values(Object(deps.skills())).filter((skill) =>
        mayAskFor(bearer, String(pathGet(skill, 'name'))),
      ),
    ),
  )
  app.get(
    '/v1/skills/:name',
    answering((request, bearer) => {
      const name = String(request.params.name)
      requireAskFor(bearer, name)
      return deps.describe(name)
    }),
  )
  app.post(
    '/v1/skills/:name',
    answering((request, bearer) =>
      deps.invoke(String(request.params.name), request.body ?? {}, callerOf(request, bearer)),
    ),
  )
  app.use(requireControlToken)
  app.get('/v1/status', answering(deps.status))
  app.get('/v1/doctor', answering(deps.doctor))
  app.post(
    '/v1/messages',
    answering((request) => {
      const { data, error } = submissionSchema.safeParse(request.body)
      if (!data) throw new TriviumError('bad_request', { reason: z.prettifyError(error) })
      return deps.submit(data, callerOf(request, OPERATOR).signal)
    }),
  )
  app.get(
    '/v1/messages/:id/explain',
    answering((request) => deps.explain(String(request.params.id))),
  )
  app.post('/v1/reload', answering(deps.reload))
  app.use((request) => {
    throw new TriviumError('not_found', { path: request.path })
  })
  app.use(answerError)
  return app
}

/** Answers with what `ask` gives as the result. */
function answering(ask: (request: Request, bearer: Bearer) => unknown): RequestHandler {
  return async (request, response) => {
    response.json({ result: (await ask(request, bearerIn(response))) ?? null })
  }
}

/** The caller goes away when its connection does, so that a wait does not outlive who waits. */
function callerOf(request: Request, bearer: Bearer): ControlCaller {
  const abort = new AbortController()
  request.res?.on('close', () => {
    abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'the caller went away' }))
  })
  const client = request.get('x-trivium-client')
  return {
    caller: bearer.skills
      ? { kind: 'http', ...bearer }
      : { kind: client ? 'cli' : 'http', id: client ?? 'control', ...bearer },
    signal: abort.signal,
    headers: publicHeaders(request),
  }
}

/** Headers as skills see them in `nonlocals.request.headers`: without the credentials. */
function publicHeaders(request: Request): Record<string, string> {
  const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const)
  return Object.fromEntries(entries.filter(([name]) => name !== 'authorization' && name !== 'cookie'))
}

/** Who bears a token, and their rights. */
type Bearer = Omit<Caller, 'kind'>
type BearerOf = (request: Request) => Bearer | undefined

const OPERATOR: Bearer = { roles: ['operator'] }

/** Reads the bearer of a request; undefined where its token is none that is valid now. */
function createBearerCheck({ token, tokens }: Pick<ControlDeps, 'token' | 'tokens'>): BearerOf {
  return (request) => {
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

/**
 * Browsers cannot be tricked into sending the token (no cookies), and a page on another origin cannot read answers:
 * there are no CORS headers.
 */
function requireToken(bearerOf: BearerOf): RequestHandler {
  return (request, response, next) => {
    const bearer = bearerOf(request)
    if (!bearer) throw new TriviumError('unauthorized')
    response.locals.bearer = bearer
    if (bearer.skills) {
      // What waits for long must not outlast the right to it.
      const hangUp = () => isDeepStrictEqual(bearerOf(request), bearer) || response.destroy()
      const looking = setInterval(hangUp, LOOK_AGAIN)
      response.once('close', () => clearInterval(looking))
    }
    next()
  }
}

function bearerIn(response: Response): Bearer {
  return response.locals.bearer
}

const requireControlToken: RequestHandler = (request, response, next) => {
  const { skills, id } = bearerIn(response)
  if (!skills) return next()
  const what = `${request.method} ${request.path} for ${id}`
  throw new TriviumError('forbidden', { what, reason: 'it needs the control token; `tokens` are for skills' })
}

/**
 * What needs no token is for this machine where the listener is on loopback. A web page can point its own name
 * at 127.0.0.1 (DNS rebinding), but its requests then carry that name.
 */
function refuseRebinding(bearerOf: BearerOf): RequestHandler {
  return (request, _response, next) => {
    const isLocal = isLoopback(request.socket.localAddress ?? '')
    if (isLocal && !isLocalName(request.hostname) && !bearerOf(request)) {
      throw new TriviumError('forbidden', {
        what: `Asking for ${request.path} by the name ${request.hostname}`,
        reason: 'use localhost or the address, or give the control token',
      })
    }
    next()
  }
}

/** Proofs are for the command line: from afar one could try out at leisure which token, if a short one, makes them. */
function isFromHere({ socket: { localAddress, remoteAddress = '' } }: Request): boolean {
  return isLoopback(remoteAddress) || remoteAddress === localAddress
}

const MAX_DEPTH = 1_000

const refuseDeep: RequestHandler = (request, _response, next) => {
  if (isShallow(request.body, MAX_DEPTH)) return next()
  throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
}

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  })
  next()
}

const answerError: ErrorRequestHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error)
  const refused = clientStatus(error)
  const found =
    refused === undefined
      ? toTriviumError(error)
      : new TriviumError('bad_request', { reason: reasonOf(error) }, { cause: error })
  if (found.status === 401) response.set('www-authenticate', 'Bearer realm="trivium"')
  if (found.retryable && found.status === 503) response.set('retry-after', '1')
  response.status(refused ?? found.status).json(errorBody(found))
}

/** Express' own errors (a body that is no JSON, or too large) carry a status below 500. */
function clientStatus(error: unknown): number | undefined {
  if (error instanceof TriviumError || !(error instanceof Error) || !('status' in error)) return undefined
  return typeof error.status === 'number' && error.status < 500 ? error.status : undefined
}
