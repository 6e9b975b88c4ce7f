import { type IncomingMessage, type OutgoingHttpHeaders, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIPv4 } from 'node:net'
import { reasonOf } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { usage } from '../command.ts'
import type { Deliver, Delivery } from './delivery.ts'

type Options = {
  url: URL
  /** Further headers, which take precedence over those of the delivery. */
  headers: Record<string, string>
  /** In ms. */
  timeout: number
  /** Reads an attachment of a message. */
  readFile(sha256: string, message: string): Promise<Buffer>
  /** Called once per gateway that does not keep its original deliveries. */
  onIncomplete(gateway: string): void
}

type ForwardedRequest = { method: string; headers: OutgoingHttpHeaders; body: Buffer; query: string }

/**
 * Delivers an event as a request: a webhook with its original method, headers and body as far as
 * they are known, others as JSON. A 2xx status means done. Does not follow redirects.
 */
export function createForward({ url, headers, timeout, readFile, onIncomplete }: Options): Deliver {
  const warned = new Set<string>()
  return async (delivery, signal) => {
    const { event, message } = delivery
    const gateway = message?.gateway ?? ''
    if (message?.transport === 'webhook' && originalOf(message) === undefined && !warned.has(gateway)) {
      warned.add(gateway)
      onIncomplete(gateway)
    }
    try {
      const request = await requestFor(delivery, readFile)
      request.headers = {
        ...request.headers,
        'trivium-event': String(event.id),
        'trivium-attempt': String(delivery.attempt),
        ...headers,
      }
      const response = await send(url, request, AbortSignal.any([signal, AbortSignal.timeout(timeout)]))
      const status = response.statusCode ?? 0
      return { ok: status >= 200 && status < 300, summary: String(status), fields: { status } }
    } catch (error) {
      const isTimeout = error instanceof Error && error.name === 'TimeoutError'
      const summary = isTimeout ? 'timeout' : String(pathGet(error, 'code') ?? reasonOf(error))
      return { ok: false, summary, fields: { error: summary } }
    }
  }
}

/**
 * Parses `http://localhost:3000/hook`, `localhost:3000/hook`, `3000/hook` or `3000`. Throws `usage`
 * for anything else.
 */
export function forwardUrl(text: string): URL {
  const full = /^\d{1,5}(?:\/|$)/.test(text) ? `http://localhost:${text}` : text
  const [, scheme = 'http'] = /^([a-z][a-z\d+.-]*):\/\//i.exec(full) ?? []
  if (!/^https?$/i.test(scheme)) throw usage(`--forward only supports http and https, not ${scheme}`)
  const url = URL.parse(/^https?:\/\//i.test(full) ? full : `http://${full}`)
  // The parser takes `http://19000` for the address 0.0.74.56, but it is probably a port.
  const isNumber = url !== null && isIPv4(url.hostname) && !full.includes(url.hostname)
  const hasSpace = /^\w+:\/\/.*\s/.test(full)
  if (url && !isNumber && !hasSpace && url.hostname !== '') return url
  throw usage(`--forward takes a URL such as http://localhost:3000/hook, not ${JSON.stringify(text)}`)
}

async function requestFor(
  { event, message }: Delivery,
  readFile: Options['readFile'],
): Promise<ForwardedRequest> {
  const original = message && originalOf(message)
  if (original) return original
  if (message?.transport === 'webhook') return rebuild(message, readFile)
  const body = Buffer.from(JSON.stringify({ ...event, ...(message && { message }) }))
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body, query: '' }
}

/** The original request, if the gateway keeps it. */
function originalOf({ data }: Message): ForwardedRequest | undefined {
  const { original } = data
  if (!isJsonObject(original)) return undefined
  const { method, url, headers, text, base64 } = original
  const body = typeof text === 'string' ? Buffer.from(text) : Buffer.from(String(base64 ?? ''), 'base64')
  const [, query = ''] = /\?(.*)$/s.exec(String(url)) ?? []
  return { method: String(method), headers: headersOf(headers), body, query }
}

/**
 * Rebuilds a request that was not kept: its body is the text, unless the gateway takes the text
 * from a field.
 */
async function rebuild(
  { id, text, data, attachments }: Message,
  readFile: Options['readFile'],
): Promise<ForwardedRequest> {
  const query = isJsonObject(data.query) ? new URLSearchParams(textsOf(data.query)).toString() : ''
  const headers = headersOf(data.headers)
  const method = typeof data.method === 'string' ? data.method : 'POST'
  const [attached] = attachments
  if (data.format === 'file' && attached)
    return { method, headers, query, body: await readFile(attached.sha256, id) }
  // The text is the body of a JSON delivery, and of a text without a parsed body.
  const isWhole = data.split === undefined
  const isText = data.format === 'json' || (data.format === 'text' && data.body === undefined)
  if (isWhole && isText) return { method, headers, query, body: Buffer.from(text) }
  const body = Buffer.from(JSON.stringify(data.body ?? text))
  return { method, headers: { ...headers, 'content-type': 'application/json' }, query, body }
}

/** The headers of a delivery, except those about the encoding of its body. */
function headersOf(given: unknown): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(isJsonObject(given) ? given : {})) {
    if (/^(content-encoding|content-length|transfer-encoding|host|connection)$/i.test(name)) continue
    headers[name] = Array.isArray(value) ? value.map(String) : String(value)
  }
  return headers
}

function textsOf(fields: JsonObject): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))
}

/** Sends a request. Resolves with the response once its body has been read and discarded. */
function send(
  url: URL,
  { method, headers, body, query }: ForwardedRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const target = new URL(url)
  if (query !== '' && target.search === '') target.search = query
  const open = target.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    const outgoing = open(
      target,
      { method, headers: { ...headers, 'content-length': body.length }, signal, agent: false },
      (response) => {
        response.resume()
        response.once('end', () => resolve(response))
        response.once('error', reject)
      },
    )
    outgoing.once('error', (error) => reject(signal.aborted ? signal.reason : error))
    outgoing.end(body)
  })
}
