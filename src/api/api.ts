import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express'
import { errorBody, reasonOf, TriviumError, toTriviumError } from '../core/errors.ts'
import { createQueuesPage, QUEUES_PATH } from '../features/bullmq/queues-page.ts'
import { CALLBACK, createSignIn, type SignIn } from '../features/sign-in/sign-in.ts'
import { auditBoard, audited, auditRefused } from './audited.ts'
import {
  type BearerOf,
  createBearerCheck,
  isOperator,
  OPERATOR,
  refuseRebinding,
  requireOperator,
  requireToken,
} from './bearer.ts'
import { type Calls, createCalls, type ResultHandler } from './calls.ts'
import { compressForBrowsers } from './compress.ts'
import { createConsoleFiles } from './console-files.ts'
import type { ControlDeps } from './control-deps.ts'
import { addOpenCalls } from './open-calls.ts'
import { OPEN, OPEN_RESULT } from './openapi.ts'
import { addOperatorCalls } from './operator-calls.ts'
import { addProgramCalls } from './program-calls.ts'

/**
 * The control API. Calls need a token or the console's cookie, except health, metrics, the API
 * description, the files of the console, sign-in, and the proof for the command line. Which calls a
 * caller may use follows from the order of the middleware.
 */
export function createControlApi(deps: ControlDeps): Express {
  const app = express()
  const calls = createCalls(app)
  const byToken = createBearerCheck(deps)
  const hasControlToken = (request: Request) => byToken(request) === OPERATOR
  const signIn = createSignIn({ ...deps, hasControlToken })
  /** A request with a token is authenticated by the token only. */
  const bearerOf: BearerOf = async (request) =>
    request.get('authorization') === undefined ? signIn.bearerOf(request) : byToken(request)
  app.disable('x-powered-by')
  app.disable('etag')
  app.use(securityHeaders)
  calls.serve('get /healthz', 'The process is alive.', OPEN, (_request, response) => {
    response.json({ ok: true })
  })
  app.use(createConsoleFiles())
  app.use(compressForBrowsers)
  app.use(['/readyz', '/metrics', '/openapi.json', '/docs', '/v1/proof'], refuseRebinding(bearerOf))
  addOpenCalls(calls, deps)
  addSessionCalls(calls, signIn)
  const board = {
    isOperator: async (request: Request) => isOperator(await bearerOf(request)),
    board: deps.board,
  }
  app.use(QUEUES_PATH, auditBoard(deps, bearerOf), createQueuesPage(board))
  app.use(requireToken(bearerOf))
  addProgramCalls(app, calls, deps)
  app.use(requireOperator(auditRefused(deps)))
  addOperatorCalls(calls, deps)
  addTokenCall(calls, deps, signIn)
  app.use((request) => {
    throw new TriviumError('not_found', { path: request.path })
  })
  app.use(answerError)
  return app
}

function addSessionCalls({ serve }: Calls, signIn: SignIn): void {
  const { start, show, end, toProvider, fromProvider } = signIn
  const signsIn = 'Signs a browser in: expects the control token as bearer token, and sets a cookie.'
  serve('post /v1/session', signsIn, {}, [express.json({ limit: '4kb' }), start])
  const who = 'Returns the ways to sign in, and who is signed in by the cookie.'
  serve('get /v1/session', who, OPEN_RESULT, show)
  serve('post /v1/session/end', 'Signs the browser out.', OPEN_RESULT, end)
  serve('get /auth/sign-in?at', 'Redirects a browser to the identity provider.', OPEN, toProvider)
  const callback = `get ${CALLBACK}?code&state&iss&error`
  serve(callback, 'The callback of the identity provider.', OPEN, fromProvider)
}

/**
 * Rotates the control token. All sessions end; the caller gets a new one (`signIn.keep`). Open
 * connections are closed after the response.
 */
function addTokenCall({ serveResult }: Calls, deps: ControlDeps, signIn: SignIn): void {
  const rotate: ResultHandler = async (request) => {
    const renew = await signIn.keep(request)
    const answer = await deps.rotateToken()
    const { res: response } = request
    if (response) await renew(response)
    response?.once('close', deps.hangUp)
    return answer
  }
  const about = 'Replaces the generated control token, which ends all sessions and connections.'
  serveResult('post /v1/control-token', about, audited('control-token-rotate', deps, rotate))
}

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.set({
    'content-security-policy':
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
  })
  next()
}

const answerError: ErrorRequestHandler = (error, _request, response, next) => {
  if (response.headersSent) return next(error)
  // Express's own errors (invalid JSON, a body that is too large) have a status below 500.
  const expressStatus = error instanceof TriviumError ? undefined : Number(Object(error).status ?? 500)
  const isClientError = expressStatus !== undefined && expressStatus < 500
  const failure = isClientError
    ? new TriviumError('bad_request', { reason: reasonOf(error) }, { cause: error })
    : toTriviumError(error)
  if (failure.status === 401) response.set('www-authenticate', 'Bearer realm="trivium"')
  if (failure.retryable && failure.status === 503) response.set('retry-after', '1')
  response.status(isClientError ? expressStatus : failure.status).json(errorBody(failure))
}
