import type { Request, RequestHandler } from 'express'
import { type RecordAudit, viaOf } from '../core/audit.ts'
import { toTriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import { peerOf } from '../lib/http.ts'
import { type Bearer, callerOf } from './bearer.ts'
import type { Ask } from './calls.ts'

type Deps = { record: RecordAudit }

/** Records a call that is not a skill in the audit log, with its caller and outcome. */
export function audited(action: string, { record }: Deps, ask: Ask): Ask {
  return async (request, bearer) => {
    const note = (outcome: string) =>
      record({ ...whoOf(request, bearer), action, outcome, ...targetOf(request) })
    try {
      const result = await ask(request, bearer)
      await note('ok')
      return result
    } catch (error) {
      await note(toTriviumError(error).code)
      throw error
    }
  }
}

/** Records changes made in Bull Board: the place, not the content. */
export function auditBoard(
  { record }: Deps,
  bearerOf: (request: Request) => Promise<Bearer | undefined>,
): RequestHandler {
  return async (request, response, next) => {
    const bearer = request.method === 'GET' || request.method === 'HEAD' ? undefined : await bearerOf(request)
    if (!bearer) return next()
    const target = { method: request.method, path: request.path.slice(0, 200) }
    response.once('finish', () => {
      const outcome = response.statusCode < 400 ? 'ok' : String(response.statusCode)
      void record({ ...whoOf(request, bearer), action: 'queue-board', target, outcome })
    })
    next()
  }
}

function whoOf(request: Request, bearer: Bearer) {
  const { caller } = callerOf(request, bearer)
  return { by: caller.id ?? 'control', via: viaOf(caller), from: peerOf(request) }
}

/** Only the gateway of a submitted message. */
function targetOf({ body }: Request) {
  const gateway = pathGet(body, 'gateway')
  return typeof gateway === 'string' ? { target: { gateway: gateway.slice(0, 200) } } : {}
}
