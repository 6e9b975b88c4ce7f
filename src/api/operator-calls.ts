import type { Request } from 'express'
import { z } from 'zod'
import { time } from '../core/arguments.ts'
import { badRequest } from '../core/invalid-args.ts'
import { submissionSchema } from '../core/message.ts'
import { HOUR } from '../core/units.ts'
import { messageFilter } from '../engine/operations/messages.ts'
import { createStream, STREAM_EVENTS } from '../features/live/stream.ts'
import { audited } from './audited.ts'
import { callerOf, OPERATOR } from './bearer.ts'
import type { Calls, ResultHandler } from './calls.ts'
import type { ControlDeps } from './control-deps.ts'
import { component, EVENTS, MESSAGE, RAW, withBody, withResult } from './openapi.ts'

const historySchema = z.object({ since: time.exactOptional(), until: time.exactOptional() })
const doctorSchema = z.strictObject({ gateway: z.string().exactOptional() })

/** Calls for operators: state, configuration, and test messages. */
export function addOperatorCalls({ serve, serveResult }: Calls, deps: ControlDeps): void {
  serve(
    'get /asyncapi.json',
    'AsyncAPI description of the WebSocket frames and the events.',
    RAW,
    async (_request, response) => {
      response.json(await deps.asyncapi())
    },
  )
  serveResult('get /v1/status', 'The state of the daemon and the backlog of each road.', deps.status)
  serveResult(
    'get /v1/troubles',
    'Current problems and open approvals, in the order of urgency.',
    async () => ({ at: Date.now(), troubles: await deps.troubles() }),
    withResult(component('Troubles')),
  )
  const history =
    'Rates, latency and queue depths of this daemon over time: the last hour by default, up to seven days.'
  serveResult('get /v1/history?since&until', history, ({ query }) => {
    const { since, until } = checked(query, historySchema)
    return deps.history(since ?? Date.now() - HOUR, until ?? Date.now())
  })
  const live = `Live activity as server-sent events: ${STREAM_EVENTS.join(', ')}, gap.`
  const filter = Object.keys(messageFilter.shape).join('&')
  serve(`get /v1/stream?${filter}&match&only`, live, EVENTS, createStream(deps.read))
  serveResult('get /v1/doctor', 'The results of the last gateway checks.', deps.diagnosis)
  const checks = 'Checks the store and all gateways, or one of them. A mailbox sends a mail to itself.'
  const doctor: ResultHandler = (request) => deps.doctor(bodyOf(request, doctorSchema).gateway)
  serveResult(
    'post /v1/doctor',
    checks,
    doctor,
    withBody({ type: 'object', properties: { gateway: { type: 'string' } } }),
  )
  serveResult(
    'post /v1/reload',
    'Reloads the configuration and the skills.',
    audited('reload', deps, deps.reload),
  )
  const submission = (request: Request) => bodyOf(request, submissionSchema)
  const submit: ResultHandler = (request) =>
    deps.submit(submission(request), callerOf(request, OPERATOR).signal)
  const auditedSubmit = audited('message-submit', deps, submit)
  serveResult(
    'post /v1/messages',
    'Submits a message to a gateway, as if it had arrived there.',
    auditedSubmit,
    MESSAGE,
  )
  serveResult(
    'get /v1/messages/{id}/explain',
    'Explains why each route did or did not match a message.',
    (request) => deps.explain(String(request.params.id)),
  )
  const explainDraft: ResultHandler = (request) => deps.explain(submission(request))
  serveResult(
    'post /v1/explain',
    'Explains why each route would or would not match such a message, without accepting it.',
    explainDraft,
    MESSAGE,
  )
  serveResult(
    'post /v1/draft',
    'The message that such a submission would become, with its conversation, without accepting it.',
    (request) => deps.draft(submission(request)),
    MESSAGE,
  )
  const asRead = 'The last valid routes.yaml without secrets, and the last reload.'
  serveResult('get /v1/configuration', asRead, deps.configuration)
}

function bodyOf<T>({ body }: Request, schema: z.ZodType<T>): T {
  return checked(body, schema)
}

/** Throws `bad_request`. */
function checked<T>(input: unknown, schema: z.ZodType<T>): T {
  const { data, error } = schema.safeParse(input)
  if (error) throw badRequest(error, input)
  return data
}
