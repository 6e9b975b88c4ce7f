import type { Request, RequestHandler } from 'express'
import { TriviumError } from '../../core/errors.ts'

/** Path of Bull Board. */
export const QUEUES_PATH = '/queues'

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'"

/**
 * Serves Bull Board to operators, who have the console's cookie or the control token. Others get
 * `unauthorized`. Without a queue, the request goes to the next handler.
 */
export function createQueuesPage(options: {
  isOperator(request: Request): Promise<boolean>
  board(path: string): Promise<RequestHandler | undefined>
}): RequestHandler {
  return async (request, response, next) => {
    const board = await options.board(QUEUES_PATH)
    if (!board) return next()
    if (!(await options.isOperator(request))) throw new TriviumError('unauthorized')
    response.set('content-security-policy', CONTENT_SECURITY_POLICY)
    return board(request, response, next)
  }
}
