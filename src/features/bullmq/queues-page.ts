import { createHmac } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import { TriviumError } from '../../core/errors.ts'
import { createSecretCheck } from '../../lib/secrets.ts'

/** Where Bull Board is. */
export const QUEUES_PATH = '/queues'

const COOKIE = 'trivium-queues'
/** How long (ms) a browser that gave the token may look. */
const VALID = 8 * 3_600_000
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'"

/** Lets operators at Bull Board. Its pages send no token: the console trades one (`POST /queues/login`) for a cookie for these pages. */
export function createQueuesPage(options: {
  token: string
  isOperator(request: Request): boolean
  board(path: string): Promise<RequestHandler | undefined>
}): RequestHandler {
  const { token, isOperator } = options
  const sign = (until: string) =>
    createHmac('sha256', token).update(`trivium queues ${until}`).digest('base64url')

  const hasCookie = ({ headers: { cookie = '', origin, host } }: Request) => {
    const [, until = '', given = ''] = new RegExp(`(?:^|; )${COOKIE}=(\\d+)\\.([\\w-]+)`).exec(cookie) ?? []
    // A page on another port of this host is of the same site.
    const isForeign = origin !== undefined && (!URL.canParse(origin) || new URL(origin).host !== host)
    return !isForeign && Number(until) > Date.now() && createSecretCheck([sign(until)])(given) === 0
  }

  return async (request, response, next) => {
    const board = await options.board(QUEUES_PATH)
    if (!board) return next()
    const isTold = isOperator(request)
    if (request.method === 'POST' && request.path === '/login' && isTold) {
      const until = String(Date.now() + VALID)
      const scope = `Path=${QUEUES_PATH}; Max-Age=${VALID / 1000}; HttpOnly; SameSite=Strict`
      return void response
        .set('set-cookie', `${COOKIE}=${until}.${sign(until)}; ${scope}`)
        .status(204)
        .end()
    }
    if (!isTold && !hasCookie(request)) throw new TriviumError('unauthorized')
    response.set('content-security-policy', POLICY)
    return board(request, response, next)
  }
}
