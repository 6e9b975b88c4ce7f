import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import { headOf } from '../../lib/head-of.ts'
import type { SendResult } from './connection.ts'
import { MASK } from './stored-settings.ts'

/** Maximum characters of the body of an answer. */
const MAX_BODY = 1_000
/** Maximum characters of one header, and of all headers of an answer together. */
const MAX_HEADER = 200
const MAX_HEADERS = 1_500
/** Request headers without secrets. All others are configured, and may contain one. */
const PLAIN_HEADERS = /^(user-agent|content-type|webhook-id|webhook-timestamp|ce-.*)$/i
/** Headers of an answer whose values are secrets. */
const SECRET_HEADERS = /^(set-cookie|authorization|proxy-.*|.*-(key|token|secret))$/i

const headersSchema = z.record(z.string(), z.string())

/** The request and answer of an attempt, without secrets. `bytes`: size of the request's body. */
export const exchangeSchema = z.object({
  /** When the attempt began (Unix ms), and its event. */
  at: z.number(),
  event: z.string(),
  request: z.object({ url: z.string(), headers: headersSchema, bytes: z.number() }),
  /** Absent if there was no answer. */
  response: z.object({ headers: headersSchema, body: z.string() }).exactOptional(),
})

export type Exchange = z.infer<typeof exchangeSchema>

/**
 * The request and its result, for display. `headers`: alternating names and values. `clean` redacts
 * secrets.
 */
export function exchangeOf(
  request: { url: string; headers: readonly string[]; bytes: number },
  result: SendResult,
  clean: (text: string) => string,
): Omit<Exchange, 'at' | 'event'> {
  const { url, bytes } = request
  // The query of a URL may contain a key.
  const sent = { url: url.split('?')[0] ?? '', headers: sentHeaders(request.headers), bytes }
  if (result instanceof Error) return { request: sent }
  const body = headOf(clean(Buffer.concat(result.body).toString()), MAX_BODY)
  return { request: sent, response: { headers: receivedHeaders(result.headers, clean), body } }
}

function sentHeaders(list: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (let at = 0; at < list.length; at += 2) {
    const [name = '', value = ''] = list.slice(at, at + 2)
    headers[name.toLowerCase()] = PLAIN_HEADERS.test(name) ? value.slice(0, MAX_HEADER) : MASK
  }
  return headers
}

function receivedHeaders(all: IncomingHttpHeaders, clean: (text: string) => string): Record<string, string> {
  const headers: Record<string, string> = {}
  let left = MAX_HEADERS
  for (const [name, value = ''] of Object.entries(all)) {
    const text = SECRET_HEADERS.test(name) ? MASK : headOf(clean([value].flat().join(', ')), MAX_HEADER)
    left -= name.length + text.length
    if (left < 0) break
    headers[name] = text
  }
  return headers
}
