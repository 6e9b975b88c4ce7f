import { createHmac } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Json, pathGet } from '../../src/core/json.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { queryOf } from '../../src/lib/http.ts'
import { createSecretCheck } from '../../src/lib/secrets.ts'
import { decodeBody } from '../deliveries/decode-body.ts'
import { answer } from './answers.ts'
import { type ChallengeOptions, isSigned } from './challenge-options.ts'

/** Printable ASCII, which is also safe in a header. */
const VALUE = /^[\x20-\x7e]{1,1000}$/
/**
 * A value to sign: letters, digits and the signs of base64 and UUIDs. A signature of anything else
 * could be used for a forged delivery: many providers sign challenges and deliveries with the same
 * secret.
 */
const SIGNABLE = /^[\w.~+/-]{1,500}={0,2}$/

/**
 * Answers the requests with which providers check an address before they send to it. They are not
 * signed, and have no effect. `answerByHead`: challenges in the query or a header. `answerByBody`:
 * challenges in a body. Both return true if they answered the request.
 */
export function createChallenge(options: ChallengeOptions, secret: string | undefined) {
  const { at, when = {}, header } = options
  const needsBody = [at, ...Object.keys(when)].some((place) => place.startsWith('data.'))
  const checks = Object.entries(when).map(([place, value]) => ({
    place,
    indexOf: createSecretCheck([value]),
  }))

  function answerChallenge(
    request: IncomingMessage,
    response: ServerResponse,
    body: Json | undefined,
  ): boolean {
    const read = (place: string) => valueAt(place, request, body)
    const value = read(at)
    if (value === undefined || !(isSigned(options) ? SIGNABLE : VALUE).test(value)) return false
    if (!checks.every(({ place, indexOf }) => indexOf(read(place) ?? '') >= 0)) return false
    if (header !== undefined) response.setHeader(header, value)
    answer(response, answerWith(options.answer, value, secret))
    return true
  }

  return {
    answerByHead(request: IncomingMessage, response: ServerResponse): boolean {
      return !needsBody && answerChallenge(request, response, undefined)
    },
    answerByBody(request: IncomingMessage, response: ServerResponse, raw: Buffer): boolean {
      if (!needsBody) return false
      const decoded = attempt(() => decodeBody(request.headers['content-type'], raw))
      return decoded !== undefined && answerChallenge(request, response, decoded.body)
    },
  }
}

/** The value at `query.NAME`, `header.NAME` or `data.body.PATH`. */
function valueAt(place: string, request: IncomingMessage, body: Json | undefined): string | undefined {
  const [, kind = '', name = ''] = /^(query|header|data\.body)\.(.+)$/.exec(place) ?? []
  if (kind === 'query') return queryOf(request).get(name) ?? undefined
  const value = kind === 'header' ? request.headers[name.toLowerCase()] : pathGet(body, name)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** The response: JSON, or `text/plain`, so that no browser shows the value as a page. */
function answerWith(template: ChallengeOptions['answer'], value: string, secret = '') {
  const fill = (text: string) =>
    text.replaceAll(/\{(value|hmac-hex|hmac-base64)\}/g, (_, name: string) => {
      if (name === 'value') return value
      return createHmac('sha256', secret)
        .update(value)
        .digest(name === 'hmac-hex' ? 'hex' : 'base64')
    })
  if (typeof template === 'string') return { status: 200, type: 'text/plain', text: fill(template) }
  const filled = Object.entries(template).map(([key, text]) => [key, fill(text)])
  return { status: 200, text: JSON.stringify(Object.fromEntries(filled)) }
}
