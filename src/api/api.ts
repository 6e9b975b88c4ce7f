import { pipeline } from 'node:stream/promises'
import { isDeepStrictEqual } from 'node:util'
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import { z } from 'zod'
import type { Caller, InvokeOptions, ProgramToken } from '../core/call.ts'
import { errorBody, reasonOf, TriviumError, toTriviumError } from '../core/errors.ts'
import { mayAskFor, requireAskFor } from '../core/identity.ts'
import { type Json, type JsonObject, pathGet } from '../core/json.ts'
import { type Submission, submissionSchema } from '../core/message.ts'
import { messageFilter } from '../core/message-operations.ts'
import type { ArtifactService } from '../core/services.ts'
import { createQueuesPage, QUEUES_PATH } from '../features/bullmq/queues-page.ts'
import { createStream, type Reader, STREAMED } from '../features/live/stream.ts'
import { parseExact } from '../lib/exact-json.ts'
import { isLocalName, isLoopback } from '../lib/http.ts'
import { createSecretCheck } from '../lib/secrets.ts'
import { isShallow } from '../lib/shallow.ts'
import { createConsoleFiles, IMPORT_MAP_HASH } from './console-files.ts'
import {
  BYTES,
  type DescribedCall,
  docsPage,
  EVENTS,
  MESSAGE,
  OPEN,
  openApi,
  RAW,
  taking,
} from './openapi.ts'
import { proofOf } from './token.ts'

/** What the control API offers to those who hold the token. */
export type ControlDeps = {
  token: string
  /** The tokens of programs that are valid now. */
  tokens(): readonly ProgramToken[]
  /** Runs a skill; each call is an invocation of its own. */
  invoke(name: string, args: unknown, options: InvokeOptions): Promise<unknown>
  skills(): Json
  version: string
  asyncapi(): object
  /** What a skill takes and the layers around it. Throws `skill_not_found`. */
  describe(name: string): Json
  status(): Promise<Json>
  /** Checks the store and every running gateway. */
  doctor(): Promise<Json>
  /** Puts a message through a gateway as if it had come from outside; waits `wait` ms for replies. */
  submit(submission: Submission, signal: AbortSignal): Promise<Json>
  /** Why each route takes a message or not: an accepted one by its id, or one that is only thought of. */
  explain(what: string | Submission): Promise<Json>
  /** routes.yaml as it was last read well, without secrets. */
  configuration(): Json
  reload(): Promise<Json>
  /** The last hour, for charts. */
  history(): object
  /** Shows a reader what happens, until what it returns is called. */
  read(reader: Reader): () => void
  artifacts: ArtifactService
  /** Bull Board, to be mounted at `path`; undefined where no route has a queue. */
  board(path: string): Promise<RequestHandler | undefined>
  /** The store answers and both listeners listen; the reason where not. */
  ready(): Promise<{ ok: boolean; detail: Json }>
  metrics(): Promise<{ type: string; body: string }>
  mcp(request: Request, response: Response, caller: Caller): unknown
}

const BODY_LIMIT = '4mb'
/** Ms; whether the token of a program is still valid while its call waits. */
const LOOK_AGAIN = 1_000

/** The control listener. All but health, metrics and its own description needs the control token, or for skills a program’s token. */
export function createControlApi(deps: ControlDeps): Express {
  const app = express()
  const bearerOf = createBearerCheck(deps)
  const described: DescribedCall[] = []
  const serve = (call: string, summary: string, more: JsonObject, handler: RequestHandler) => {
    described.push([call, summary, more])
    const [method, path = ''] = call.replaceAll(/\{(\w+)\}/g, ':$1').split(/[ ?]/)
    app[method === 'get' ? 'get' : 'post'](path, handler)
  }
  /** Serves a call that answers with what `ask` gives as the result. */
  const offer = (call: string, summary: string, ask: Ask, more = {}) =>
    serve(call, summary, more, async (request, response) => {
      response.json({ result: (await ask(request, bearerIn(response))) ?? null })
    })
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(securityHeaders)

  serve('get /healthz', 'The process is alive.', OPEN, (_request, response) => {
    response.json({ ok: true })
  })
  app.use(createConsoleFiles())
  app.use(['/readyz', '/metrics', '/openapi.json', '/docs', '/v1/proof'], refuseRebinding(bearerOf))
  serve('get /readyz', 'Messages can come in; 503 where not.', OPEN, async (_request, response) => {
    const ready = await deps.ready()
    response.status(ready.ok ? 200 : 503).json(ready)
  })
  serve('get /metrics', 'Counts, for Prometheus.', OPEN, async (_request, response) => {
    const { type, body } = await deps.metrics()
    response.type(type).send(body)
  })
  const description = () => openApi(deps.version, described, deps.skills())
  serve('get /openapi.json', 'This description.', OPEN, (_request, response) => {
    response.json(description())
  })
  serve('get /docs', 'This description, to read.', OPEN, (_request, response) => {
    response.type('html').send(docsPage(description()))
  })
  const proof = 'Proves to a program here that the daemon knows the token.'
  serve('get /v1/proof/{nonce}', proof, OPEN, (request, response) => {
    // For the command line: from afar one could try out at leisure which token, if a short one, makes them.
    const { localAddress, remoteAddress = '' } = request.socket
    const isFromHere = isLoopback(remoteAddress) || remoteAddress === localAddress
    const isProxied = PROXY_HEADERS.some((name) => request.get(name) !== undefined)
    if (!isFromHere || isProxied) throw new TriviumError('unauthorized')
    response.json({ result: proofOf(deps.token, String(request.params.nonce)) })
  })

  const isOperator = (request: Request) => bearerOf(request) === OPERATOR
  app.use(QUEUES_PATH, createQueuesPage({ token: deps.token, isOperator, board: deps.board }))
  app.use(requireToken(bearerOf))
  const keep = async (request: Request, bearer: Bearer) => {
    requireAskFor(bearer, 'gateway-send')
    const type = request.get('content-type') ?? 'application/octet-stream'
    const name = String(request.query.name ?? 'file')
    return deps.artifacts.save({ name, type, data: request }, callerOf(request, bearer))
  }
  offer('post /v1/artifacts?name', 'Keeps the body as a file, which a reply may attach.', keep, BYTES)
  const file = 'Reads a file: one’s own, or one that the message brought.'
  serve('get /v1/artifacts/{sha256}?message', file, RAW, async (request, response) => {
    const { message } = request.query
    const bearer = bearerIn(response)
    if (message !== undefined && !mayAskFor(bearer, 'gateway-receive')) requireAskFor(bearer, 'message-show')
    const messageId = message === undefined ? {} : { messageId: String(message) }
    const asked = { artifact: String(request.params.sha256), ...messageId }
    const found = await deps.artifacts.open(asked, callerOf(request, bearer))
    // Never shown as a page: who sent it may have been a stranger.
    response.attachment().type('application/octet-stream')
    await pipeline(found, response)
  })
  app.use(express.text({ limit: BODY_LIMIT, type: 'application/json' }), parseBody, refuseDeep)
  described.push(['post /mcp', 'Model Context Protocol over streamable HTTP.', { ...taking({}), ...RAW }])
  app.all('/mcp', async (request, response) => {
    const bearer = bearerIn(response)
    await deps.mcp(request, response, { kind: 'mcp', ...(bearer.skills && bearer) })
  })
  offer('get /v1/skills', 'All skills, and what they take.', (_request, bearer) =>
    Object.values(Object(deps.skills())).filter((skill) => mayAskFor(bearer, String(pathGet(skill, 'name')))),
  )
  offer('get /v1/skills/{name}', 'What a skill takes, and the layers around it.', (request, bearer) => {
    const name = String(request.params.name)
    requireAskFor(bearer, name)
    return deps.describe(name)
  })
  const invoke: Ask = (request, bearer) =>
    deps.invoke(String(request.params.name), request.body ?? {}, callerOf(request, bearer))
  offer('post /v1/skills/{name}', 'Invokes a skill by name, or a callback by its ref.', invoke, taking({}))
  app.use(requireControlToken)
  serve('get /asyncapi.json', 'What WebSocket gateways say, and the events.', RAW, (_request, response) => {
    response.json(deps.asyncapi())
  })
  offer('get /v1/status', 'What runs, and how far behind each road is.', deps.status)
  offer('get /v1/history', 'The last hour of this daemon in points: rates, latency, depths.', deps.history)
  const live = `What happens, as it happens, as server-sent events: ${STREAMED.join(', ')}, gap.`
  const filter = Object.keys(messageFilter.shape).join('&')
  serve(`get /v1/stream?${filter}&only`, live, EVENTS, createStream(deps.read))
  offer('get /v1/doctor', 'What could be wrong with the store and the gateways.', deps.doctor)
  offer('post /v1/reload', 'Reads configuration and skills again.', deps.reload)
  const submission = (request: Request) => {
    const { data, error } = submissionSchema.safeParse(request.body)
    if (!data) throw new TriviumError('bad_request', { reason: z.prettifyError(error) })
    return data
  }
  const submit: Ask = (request) => deps.submit(submission(request), callerOf(request, OPERATOR).signal)
  offer('post /v1/messages', 'Puts a message through a gateway, as if it had come in.', submit, MESSAGE)
  offer('get /v1/messages/{id}/explain', 'Why each route did or did not take a message.', (request) =>
    deps.explain(String(request.params.id)),
  )
  const draft: Ask = (request) => deps.explain(submission(request))
  offer(
    'post /v1/explain',
    'Why each route would take such a message or not; accepts nothing.',
    draft,
    MESSAGE,
  )
  const asRead = 'routes.yaml as it was last read well, without secrets, and the last reload.'
  offer('get /v1/configuration', asRead, deps.configuration)
  app.use((request) => {
    throw new TriviumError('not_found', { path: request.path })
  })
  app.use(answerError)
  return app
}

/** What a proxy in front of the control listener adds: its requests come from this machine, but their clients need not. */
const PROXY_HEADERS = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
]

type Ask = (request: Request, bearer: Bearer) => unknown

/** The caller goes away when its connection does, so that a wait does not outlive who waits. */
function callerOf(request: Request, bearer: Bearer) {
  const abort = new AbortController()
  request.res?.on('close', () => {
    abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'the caller went away' }))
  })
  const client = request.get('x-trivium-client')
  const { authorization: _authorization, cookie: _cookie, ...headers } = request.headers
  return {
    caller: bearer.skills
      ? { kind: 'http', ...bearer }
      : { kind: client ? 'cli' : 'http', id: client ?? 'control', ...bearer },
    signal: abort.signal,
    nonlocals: { request: { headers } },
  } satisfies InvokeOptions
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

/** Without cookies browsers cannot be tricked into sending the token, nor without CORS headers another origin read answers. */
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

/** What needs no token is for this machine. A web page can point its name at 127.0.0.1, but its requests carry that name. */
function refuseRebinding(bearerOf: BearerOf): RequestHandler {
  return (request, _response, next) => {
    const isLocal = isLoopback(request.socket.localAddress ?? '')
    if (isLocal && !isLocalName(request.hostname) && !bearerOf(request)) {
      throw new TriviumError('forbidden', {
        what: `Asking for ${request.baseUrl} by the name ${request.hostname}`,
        reason: 'use localhost or the address, or give the control token',
      })
    }
    next()
  }
}

const MAX_DEPTH = 1_000

/** As `express.json` does, with the digits of long numbers. */
const parseBody: RequestHandler = (request, _response, next) => {
  const { body } = request
  try {
    if (typeof body === 'string') request.body = body === '' ? {} : parseExact(body)
  } catch (cause) {
    throw new TriviumError('bad_request', { reason: reasonOf(cause) }, { cause })
  }
  next()
}

const refuseDeep: RequestHandler = (request, _response, next) => {
  if (isShallow(request.body, MAX_DEPTH)) return next()
  throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
}

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy': `default-src 'none'; script-src 'self' ${IMPORT_MAP_HASH}; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  })
  next()
}

const answerError: ErrorRequestHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error)
  // Express' own errors (a body that is no JSON, or too large) carry a status below 500.
  const refused = error instanceof TriviumError ? undefined : Number(Object(error).status ?? 500)
  const isClients = refused !== undefined && refused < 500
  const found = isClients
    ? new TriviumError('bad_request', { reason: reasonOf(error) }, { cause: error })
    : toTriviumError(error)
  if (found.status === 401) response.set('www-authenticate', 'Bearer realm="trivium"')
  if (found.retryable && found.status === 503) response.set('retry-after', '1')
  response.status(isClients ? refused : found.status).json(errorBody(found))
}
