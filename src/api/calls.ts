import type { Express, Request, RequestHandler } from 'express'
import type { JsonObject } from '../core/json.ts'
import { type Bearer, bearerIn } from './bearer.ts'
import type { DescribedCall } from './openapi.ts'

export type Calls = ReturnType<typeof createCalls>

/** The handler of a call. Returns its result, or a promise of it. */
export type ResultHandler = (request: Request, bearer: Bearer) => unknown

/**
 * Registers calls such as `get /v1/messages/{id}?one&two`, where `one` and `two` are query
 * parameters. `more`: additions to the OpenAPI description. `described`: all calls, for that
 * description.
 */
export function createCalls(app: Express) {
  const described: DescribedCall[] = []
  const serve = (
    call: string,
    summary: string,
    more: JsonObject,
    handler: RequestHandler | RequestHandler[],
  ) => {
    described.push({ call, summary, more })
    const [method, path = ''] = call.replaceAll(/\{(\w+)\}/g, ':$1').split(/[ ?]/)
    app[method === 'get' ? 'get' : 'post'](path, handler)
  }
  return {
    described,
    serve,
    /** Serves a call that answers with the result of `handle` as JSON. */
    serveResult: (call: string, summary: string, handle: ResultHandler, more = {}) =>
      serve(call, summary, more, async (request, response) => {
        response.json({ result: (await handle(request, bearerIn(response))) ?? null })
      }),
  }
}
