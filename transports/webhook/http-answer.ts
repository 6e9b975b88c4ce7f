import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import type { Json } from '../../src/core/json.ts'

/** Maximum bytes of a body and of all headers. */
const MAX_BODY = 1024 * 1024
const MAX_HEADERS = 8 * 1024

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
  .record(z.string(), z.union([headerValue, z.array(headerValue).max(50)]))
  .superRefine((given, context) => {
    const odd = Object.keys(given).find((name) => !NAME.test(name))
    if (odd !== undefined)
      context.addIssue({ code: 'custom', message: 'a header has a name such as X-Reason', input: odd })
    const forbidden = Object.keys(given).find((name) => FORBIDDEN.test(name))
    if (forbidden)
      context.addIssue({ code: 'custom', message: `${forbidden} is set by Trivium`, input: given })
    if (JSON.stringify(given).length > MAX_HEADERS)
      context.addIssue({ code: 'custom', message: `more than ${MAX_HEADERS} bytes`, input: given })
  })

const httpSchema = z.strictObject({
  status: z.int('expected a number from 200 to 599').min(200).max(599).default(200),
  headers: headers.default({}),
  body: z.json().optional(),
})

/** A validated HTTP response from a skill. */
export type HttpAnswer = { status: number; headers: Record<string, string | string[]>; body: string }

/** Statuses without a body; a client would read a body as the next response. */
const WITHOUT_BODY = [204, 205, 304]

/** Reads `{ status?, headers?, body? }`; a body that is not a string is sent as JSON. Throws `send_rejected` with the error. */
export function readHttpAnswer(gateway: string, given: Json): HttpAnswer {
  const refuse = (reason: string) => new TriviumError('send_rejected', { gateway, reason })
  const { data, error } = httpSchema.safeParse(given)
  if (!data) {
    const [{ path, message } = { path: [], message: '' }] = error.issues
    throw refuse(`${['http', ...path].join('.')}: ${message}`)
  }
  const { status, body: said } = data
  const isText = typeof said === 'string'
  const body = isText ? said : said === undefined || said === null ? '' : JSON.stringify(said)
  if (Buffer.byteLength(body) > MAX_BODY) throw refuse(`http.body: more than ${MAX_BODY} bytes`)
  if (body !== '' && WITHOUT_BODY.includes(status))
    throw refuse(`http.body: a response ${status} has no body`)
  const hasType = Object.keys(data.headers).some((name) => name.toLowerCase() === 'content-type')
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
  const typed = body === '' || hasType ? data.headers : { ...data.headers, 'Content-Type': type }
  return { status, headers: typed, body }
}

/** Sends the response to a delivery. */
export function writeHttpAnswer(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  if (!WITHOUT_BODY.includes(status)) response.setHeader('Content-Length', Buffer.byteLength(body))
  response.writeHead(status).end(body)
}
