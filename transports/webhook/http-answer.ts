import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'

const MAX_BODY_BYTES = 1024 * 1024
/** Maximum bytes of all headers together. */
const MAX_HEADER_BYTES = 8 * 1024
/** Maximum number of values of one header. */
const MAX_HEADER_VALUES = 50

/** Headers that skills may not set: connection headers, and security headers for browsers. */
const FORBIDDEN =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|content-encoding|host|date|x-content-type-options)$/i

const NAME = /^[!#$%&'*+.^_`|~\w-]{1,100}$/

const headerValue = z
  .union([z.string(), z.number().transform(String)])
  .refine(
    (value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
    'a value has no line breaks and no characters beyond Latin-1',
  )

const headers = z
  .record(
    z.string(),
    z
      .union([headerValue, z.array(headerValue).max(MAX_HEADER_VALUES)])
      .describe('The value of this header, or a list of its values.'),
  )
  .superRefine((fields, context) => {
    const fault = (message: string) => context.addIssue({ code: 'custom', message, input: fields })
    const names = Object.keys(fields)
    if (!names.every((name) => NAME.test(name))) fault('a header has a name such as X-Reason')
    const forbidden = names.find((name) => FORBIDDEN.test(name))
    if (forbidden) fault(`${forbidden} is set by Trivium`)
    if (JSON.stringify(fields).length > MAX_HEADER_BYTES) fault(`more than ${MAX_HEADER_BYTES} bytes`)
  })

const httpSchema = z.strictObject({
  status: z.int('expected a number from 200 to 599').min(200).max(599).default(200),
  headers: headers.default({}).describe('Headers of the response, up to 8 KB in total.'),
  body: z.json().optional().describe('A text, or any other value, which is sent as JSON.'),
})

/** A validated HTTP response from a skill. */
export type HttpAnswer = { status: number; headers: Record<string, string | string[]>; body: string }

/** Statuses without a body; a client would read a body as the next response. */
const WITHOUT_BODY = [204, 205, 304]

/**
 * Reads `{ status?, headers?, body? }`; a body that is not a string is sent as JSON. Throws
 * `send_rejected` with the reason.
 */
export function readHttpAnswer(gateway: string, value: unknown): HttpAnswer {
  const refuse = (reason: string) => new TriviumError('send_rejected', { gateway, reason })
  const { data, error } = httpSchema.safeParse(value)
  if (!data) {
    const [{ path, message } = { path: [], message: '' }] = error.issues
    throw refuse(`${['http', ...path].join('.')}: ${message}`)
  }
  const { status, body: content } = data
  const body = bodyText(content)
  const fault = bodyFault(status, body)
  if (fault) throw refuse(`http.body: ${fault}`)
  const hasType = Object.keys(data.headers).some((name) => name.toLowerCase() === 'content-type')
  if (body === '' || hasType) return { status, headers: data.headers, body }
  const type = typeof content === 'string' ? 'text/plain; charset=utf-8' : 'application/json'
  return { status, headers: { ...data.headers, 'Content-Type': type }, body }
}

/** Why a response cannot have this body; undefined if it can. */
function bodyFault(status: number, body: string): string | undefined {
  if (Buffer.byteLength(body) > MAX_BODY_BYTES) return `more than ${MAX_BODY_BYTES} bytes`
  if (body === '' || !WITHOUT_BODY.includes(status)) return undefined
  return `a response with status ${status} has no body`
}

/** The response of a gateway to all accepted deliveries. Its status is 2xx. */
export const acceptedAnswer = z.union([
  z.string().transform((body) => ({ status: 200, headers: {}, body })),
  httpSchema
    .extend({
      status: z
        .int('expected a number from 200 to 299')
        .min(200)
        .max(299)
        .default(200)
        .describe('The status, which says that all is well.'),
    })
    .superRefine(({ status, body }, context) => {
      const message = bodyFault(status, bodyText(body))
      if (message) context.addIssue({ code: 'custom', path: ['body'], message, input: body })
    }),
])

function bodyText(content: Json | undefined): string {
  if (typeof content === 'string') return content
  return content === undefined || content === null ? '' : JSON.stringify(content)
}

/** Sends the response to a delivery. */
export function writeHttpAnswer(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  if (!WITHOUT_BODY.includes(status)) response.setHeader('Content-Length', Buffer.byteLength(body))
  response.writeHead(status).end(body)
}
