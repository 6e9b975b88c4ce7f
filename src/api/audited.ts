import type { Request, RequestHandler, Response } from 'express'
import { type AuditEntry, type RecordAudit, viaOf } from '../core/audit.ts'
import { authorOf } from '../core/author.ts'
import { type TriviumError, toTriviumError } from '../core/errors.ts'
import { pathGet } from '../core/json.ts'
import { peerOf } from '../lib/http.ts'
import { type Bearer, callerOf } from './bearer.ts'
import type { ResultHandler } from './calls.ts'

type Deps = { record: RecordAudit }

/** Maximum characters of a path or name in the audit log. */
const LONGEST_TARGET = 200
const DISCONNECTED = 'the caller disconnected before the answer; the change may have been made'

/** Wraps the handler of a call: records its caller and outcome in the audit log. */
export function audited(action: string, { record }: Deps, handle: ResultHandler): ResultHandler {
  return async (request, bearer) => {
    const common = { ...auditFields(request, bearer), action, ...targetOf(request) }
    try {
      const result = await handle(request, bearer)
      await record({ ...common, outcome: 'ok' })
      return result
    } catch (error) {
      const { code } = toTriviumError(error)
      await record({ ...common, outcome: code })
      throw error
    }
  }
}

/** The actions of calls for operators. */
const ACTIONS = new Map([
  ['/v1/messages', 'message-submit'],
  ['/v1/reload', 'reload'],
  ['/v1/control-token', 'control-token-rotate'],
])

/** Makes a function that records a call for operators by somebody else. */
export function auditRefused({ record }: Deps) {
  return async (request: Request, bearer: Bearer, { code, message }: TriviumError): Promise<void> => {
    const path = request.path.toLowerCase().replace(/\/$/, '')
    const action = request.method === 'POST' ? ACTIONS.get(path) : undefined
    if (action === undefined) return
    const common = { ...auditFields(request, bearer), action, ...targetOf(request) }
    await record({ ...common, outcome: code, error: message.slice(0, LONGEST_TARGET) })
  }
}

/** Records changes in Bull Board: method and path, without the content. */
export function auditBoard(
  { record }: Deps,
  bearerOf: (request: Request) => Promise<Bearer | undefined>,
): RequestHandler {
  return async (request, response, next) => {
    const { method, path } = request
    const isChange = method !== 'GET' && method !== 'HEAD'
    const bearer = isChange ? await bearerOf(request) : undefined
    if (!bearer) return next()
    const target = { method, path: path.slice(0, LONGEST_TARGET) }
    // Now, because a closed socket has no address.
    const common = { ...auditFields(request, bearer), action: 'queue-board', target }
    // Not at `finish`, which does not come if the client disconnects before the answer.
    response.once('close', () => void record({ ...common, ...outcomeOf(response) }))
    next()
  }
}

function outcomeOf({ writableFinished, statusCode }: Response): Pick<AuditEntry, 'outcome' | 'error'> {
  if (!writableFinished) return { outcome: 'cancelled', error: DISCONNECTED }
  return { outcome: statusCode < 400 ? 'ok' : String(statusCode) }
}

function auditFields(request: Request, bearer: Bearer) {
  const { caller } = callerOf(request, bearer)
  return { by: authorOf(caller), via: viaOf(caller), from: peerOf(request) }
}

/** The gateway of a submitted message, and nothing else of the body. */
function targetOf({ body }: Request) {
  const gateway = pathGet(body, 'gateway')
  return typeof gateway === 'string' ? { target: { gateway: gateway.slice(0, LONGEST_TARGET) } } : {}
}
