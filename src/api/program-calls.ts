import { pipeline } from 'node:stream/promises'
import express, { type Express, type Request, type RequestHandler } from 'express'
import { TriviumError } from '../core/errors.ts'
import { requireFewValues } from '../core/foreign-json.ts'
import { isViewer, mayInvoke, requireMayInvoke } from '../core/identity.ts'
import { pathGet } from '../core/json.ts'
import { defined } from '../lib/defined.ts'
import { parseExact } from '../lib/exact-json.ts'
import { isShallow } from '../lib/shallow.ts'
import { type Bearer, bearerIn, callerOf, isOperator } from './bearer.ts'
import type { Calls, ResultHandler } from './calls.ts'
import type { ControlDeps } from './control-deps.ts'
import { BYTES, RAW, withBody } from './openapi.ts'

/** Maximum size of a JSON body. */
const BODY_LIMIT = '4mb'
/** Maximum depth of a JSON body. */
const MAX_DEPTH = 1_000

/** Calls available to program tokens: skills, MCP and files. */
export function addProgramCalls(
  app: Express,
  { serve, serveResult, described }: Calls,
  deps: ControlDeps,
): void {
  const storeFile = async (request: Request, bearer: Bearer) => {
    requireMayInvoke(bearer, 'gateway-send')
    const type = request.get('content-type') ?? 'application/octet-stream'
    const name = queryValue(request, 'name') ?? 'file'
    return deps.artifacts.save({ name, type, data: request }, callerOf(request, bearer))
  }
  serveResult(
    'post /v1/artifacts?name',
    'Stores the body as a file, which replies can attach.',
    storeFile,
    BYTES,
  )
  const aboutFile = 'Reads a file that you stored, or an attachment of the message.'
  serve('get /v1/artifacts/{sha256}?message', aboutFile, RAW, async (request, response) => {
    const message = queryValue(request, 'message')
    const bearer = bearerIn(response)
    if (message !== undefined && !mayInvoke(bearer, 'gateway-receive'))
      requireMayInvoke(bearer, 'message-show')
    const args = { artifact: String(request.params.sha256), ...defined({ messageId: message }) }
    const content = await deps.artifacts.open(args, callerOf(request, bearer))
    // Never displayed as a page: the content may come from a stranger.
    response.attachment().type('application/octet-stream')
    await pipeline(content, response)
  })
  app.use(
    express.text({ limit: BODY_LIMIT, type: ['application/json', 'application/*+json'] }),
    parseBody,
    refuseDeep,
  )
  const aboutMcp = 'Model Context Protocol over streamable HTTP.'
  described.push({ call: 'post /mcp', summary: aboutMcp, more: { ...withBody({}), ...RAW } })
  app.all('/mcp', async (request, response) => {
    const bearer = bearerIn(response)
    await deps.mcp(request, response, { ...bearer, kind: 'mcp' })
  })
  app.use(refuseUnreadBody)
  serveResult('get /v1/skills', 'All skills, with their arguments.', (_request, bearer) =>
    Object.values(Object(deps.skills())).filter((skill) => maySee(bearer, String(pathGet(skill, 'name')))),
  )
  serveResult('get /v1/skills/{name}', 'The arguments of a skill, and its middleware.', (request, bearer) => {
    const name = String(request.params.name)
    if (!maySee(bearer, name)) requireMayInvoke(bearer, name)
    return deps.describe(name, isOperator(bearer))
  })
  const invoke: ResultHandler = (request, bearer) =>
    deps.invoke(String(request.params.name), request.body ?? {}, callerOf(request, bearer))
  serveResult(
    'post /v1/skills/{name}',
    'Invokes a skill by name, or a callback by its ref.',
    invoke,
    withBody({}),
  )
}

/** Whether a caller may read about a skill. Viewers read about all, and may invoke few. */
function maySee(bearer: Bearer, skill: string): boolean {
  return isViewer(bearer) || mayInvoke(bearer, skill)
}

/** The value of a query parameter. Throws `bad_request` if it is repeated. */
function queryValue({ query }: Request, name: string): string | undefined {
  const value = query[name]
  if (value === undefined || typeof value === 'string') return value
  throw new TriviumError('bad_request', { reason: `the query parameter ${name} is repeated` })
}

/** Like `express.json`, but preserves the digits of long numbers. */
const parseBody: RequestHandler = (request, _response, next) => {
  const { body } = request
  if (typeof body !== 'string') return next()
  requireFewValues(body)
  try {
    request.body = body === '' ? {} : parseExact(body)
  } catch (cause) {
    throw new TriviumError('bad_request', { reason: 'its body is not valid JSON' }, { cause })
  }
  next()
}

/** A body of another type would be ignored, and the skill would run without its arguments. */
const refuseUnreadBody: RequestHandler = (request, _response, next) => {
  const hasBody =
    request.get('transfer-encoding') !== undefined || Number(request.get('content-length') ?? 0) > 0
  if (request.body !== undefined || !hasBody) return next()
  const type = request.get('content-type') ?? 'none'
  const reason = `its content type is ${type}; send JSON with \`content-type: application/json\``
  throw Object.assign(new Error(reason), { status: 415 })
}

/** Deep JSON would exceed the stack of later code. */
const refuseDeep: RequestHandler = (request, _response, next) => {
  if (isShallow(request.body, MAX_DEPTH)) return next()
  throw new TriviumError('bad_request', { reason: `its JSON is nested more than ${MAX_DEPTH} deep` })
}
