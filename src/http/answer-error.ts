import { errorBody, type TriviumError } from '../core/errors.ts'
import { answerJson } from '../lib/http.ts'
import type { ServerResponse } from '../lib/node-http.ts'

/** How long (ms) a refused sender may keep sending. */
const LINGER = 5_000

/** Answers with an error while the body may still be arriving. */
export function answerError(response: ServerResponse, error: TriviumError): void {
  if (response.headersSent) return void response.destroy()
  const { req: request } = response
  if (!request.complete) {
    // Let the sender finish and read the response, but not for ever.
    request.resume()
    response.once('finish', () => setTimeout(() => request.complete || request.destroy(), LINGER).unref())
  }
  if (error.status === 426) response.setHeader('upgrade', 'websocket')
  if (error.retryable && !response.hasHeader('retry-after')) {
    response.setHeader('retry-after', error.code === 'overloaded' ? '1' : '5')
  }
  answerJson(response, error.status, JSON.stringify(errorBody(error)))
}
