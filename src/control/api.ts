import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express'
import { z } from 'zod'
import { reasonOf, TriviumError, toTriviumError } from '../core/errors.ts'
import { type Json, jsonObjectSchema } from '../core/json.ts'
import type { Caller } from '../core/skill.ts'
import { sameToken } from './token.ts'

/** What the control API offers to those who hold the token. */
export type ControlDeps = {
  token: string
  /** Runs a skill for a caller; `rootId` names the caller's own consumer groups. */
  invoke(name: string, args: unknown, by: ControlCaller): Promise<unknown>
  skills(): Json
  /** What a skill takes and the layers around it. Throws `skill_not_found`. */
  describe(name: string): Json
  status(): Promise<Json>
  /** Checks the store and every running gateway. */
  doctor(): Promise<Json>
  /** Puts a message through a gateway as if it had come from outside; waits `wait` ms for replies. */
  submit(submission: Submission, signal: AbortSignal): Promise<Json>
  explain(messageId: string): Promise<Json>
  reload(): Promise<Json>
  /** The store answers and the gateways run; the reason where not. */
  ready(): Promise<{ ok: boolean; detail: Json }>
  metrics(): Promise<{ type: string; body: string }>
  /** Model Context Protocol over streamable HTTP. */
  mcp?: RequestHandler
}

export type ControlCaller = {
  caller: Caller
  rootId: string
  signal: AbortSignal
  headers: Record<string, string>
}

const submissionSchema = z.strictObject({
  gateway: z.string().min(1),
  text: z.string(),
  conversation: z.string().min(1).max(500).exactOptional(),
  from: z.string().min(1).max(500).exactOptional(),
  key: z.string().min(1).max(500).exactOptional(),
  subject: z.string().exactOptional(),
  data: jsonObjectSchema.exactOptional(),
  /** Milliseconds to wait for the reply. */
  wait: z.number().min(0).max(600_000).default(0),
})

export type Submission = z.infer<typeof submissionSchema>

const BODY_LIMIT = '4mb'
/** The operator console: static files that ask for the token and then call this API. */
const CONSOLE = fileURLToPath(new URL('./console', import.meta.url))

/** The control listener: API, metrics, health and console. Everything but health and metrics needs the token. */
export function createControlApi(deps: ControlDeps): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(securityHeaders)

  app.get('/healthz', (_request, response) => {
    response.json({ ok: true })
  })
  app.get('/readyz', refuseRebinding(deps.token), async (_request, response) => {
    const ready = await deps.ready()
    response.status(ready.ok ? 200 : 503).json(ready)
  })
  app.get('/metrics', refuseRebinding(deps.token), async (_request, response) => {
    const { type, body } = await deps.metrics()
    response.type(type).send(body)
  })
  app.use(express.static(CONSOLE, { etag: false, lastModified: false }))

  app.use(requireToken(deps.token))
  if (deps.mcp) app.all('/mcp', express.json({ limit: BODY_LIMIT }), deps.mcp)
  app.use(express.json({ limit: BODY_LIMIT, strict: false }), refuseDeep)
  app.get('/v1/status', async (_request, response) => {
    response.json({ result: await deps.status() })
  })
  app.get('/v1/skills', (_request, response) => {
    response.json({ result: deps.skills() })
  })
  app.get('/v1/skills/:name', (request, response) => {
    response.json({ result: deps.describe(request.params.name) })
  })
  app.post('/v1/skills/:name', async (request, response) => {
    const result = await deps.invoke(request.params.name, request.body ?? {}, callerOf(request))
    response.json({ result: result ?? null })
  })
  app.get('/v1/doctor', async (_request, response) => {
    response.json({ result: await deps.doctor() })
  })
  app.post('/v1/messages', async (request, response) => {
    const parsed = submissionSchema.safeParse(request.body)
    if (!parsed.success) throw new TriviumError('bad_request', { reason: z.prettifyError(parsed.error) })
    response.json({ result: await deps.submit(parsed.data, callerOf(request).signal) })
  })
  app.get('/v1/messages/:id/explain', async (request, response) => {
    response.json({ result: await deps.explain(request.params.id) })
  })
  app.post('/v1/reload', async (_request, response) => {
    response.json({ result: await deps.reload() })
  })
  app.use((request) => {
    throw new TriviumError('not_found', { path: request.path })
  })
  app.use(answerError)
  return app
}

/** The caller goes away when its connection does, so that a wait does not outlive who waits. */
function callerOf(request: Request): ControlCaller {
  const abort = new AbortController()
  request.res?.on('close', () => {
    abort.abort(new TriviumError('cancelled', { what: 'The call', reason: 'the caller went away' }))
  })
  const client = request.get('x-trivium-client')
  return {
    caller: { kind: client ? 'cli' : 'http', id: client ?? 'control', roles: ['operator'] },
    rootId: `control:${client ?? 'http'}`,
    signal: abort.signal,
    headers: publicHeaders(request),
  }
}

/** Headers as skills see them in `nonlocals.request.headers`: without the credentials. */
function publicHeaders(request: Request): Record<string, string> {
  const entries = Object.entries(request.headers).map(([name, value]) => [name, String(value)] as const)
  return Object.fromEntries(entries.filter(([name]) => name !== 'authorization' && name !== 'cookie'))
}

/**
 * Checks the bearer token. Browsers cannot be tricked into sending it (no cookies), and a page on another
 * origin cannot read answers: there are no CORS headers.
 */
function requireToken(token: string): RequestHandler {
  return (request, _response, next) => {
    if (!bearsToken(request, token)) throw new TriviumError('unauthorized')
    next()
  }
}

function bearsToken(request: Request, token: string): boolean {
  const [scheme, given] = (request.get('authorization') ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' && given !== undefined && sameToken(given, token)
}

/**
 * What needs no token is for this machine where the listener is on loopback. A web page can point its own name
 * at 127.0.0.1 (DNS rebinding), but its requests then carry that name.
 */
function refuseRebinding(token: string): RequestHandler {
  return (request, _response, next) => {
    const isLocal = isLoopback(request.socket.localAddress ?? '')
    if (isLocal && !isLocalName(request.hostname) && !bearsToken(request, token)) {
      throw new TriviumError('forbidden', {
        what: `Asking for ${request.path} by the name ${request.hostname}`,
        reason: 'use localhost or the address, or give the control token',
      })
    }
    next()
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.replace('::ffff:', '').startsWith('127.')
}

/** No `Host` at all is no browser. */
function isLocalName(name: string | undefined): boolean {
  return !name || /^(.+\.)?localhost$/i.test(name) || isIP(name.replace(/^\[|\]$/g, '')) !== 0
}

/** Deeper JSON is parsed, but overflows the stack of whoever validates or writes it later. */
const MAX_DEPTH = 1_000

const refuseDeep: RequestHandler = (request, _response, next) => {
  let level: unknown[] = [request.body]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) {
      throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
    }
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    )
  }
  next()
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
  response.status(refused ?? found.status).json({ error: { code: found.code, message: found.message } })
}

/** Express' own errors (a body that is no JSON, or too large) carry a status below 500. */
function clientStatus(error: unknown): number | undefined {
  if (error instanceof TriviumError || !(error instanceof Error) || !('status' in error)) return undefined
  return typeof error.status === 'number' && error.status < 500 ? error.status : undefined
}
