import type { Request, RequestHandler } from 'express'
import { TriviumError } from '../../core/errors.ts'

/** Path of Bull Board. */
export const QUEUES_PATH = '/queues'

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'self'"

/** Gives operators access to Bull Board, by the console's cookie or the control token. */
export function createQueuesPage(options: {
  isOperator(request: Request): Promise<boolean>
  board(path: string): Promise<RequestHandler | undefined>
}): RequestHandler {
  return async (request, response, next) => {
    const board = await options.board(QUEUES_PATH)
    if (!board) return next()
    if (!(await options.isOperator(request))) throw new TriviumError('unauthorized')
    response.set('content-security-policy', POLICY)
    return board(request, response, next)
  }
}
