import { type ServerResponse, STATUS_CODES } from './node-http.ts'

/** Internal fields of a node:http response. */
type Inner = {
  /** The head of the response as text; null before it is written. */
  _header: string | null
  _expect_continue: boolean
  /** In ms. */
  _keepAliveTimeout: number
}

/**
 * Sends the same bytes as `writeHead` and `end` at half their cost: most responses differ only in
 * the body, so the head is cached for a second. Other responses take the normal path. `nosniff`
 * keeps browsers from rendering a sender's text as a page.
 */
export function answerQuickly(response: ServerResponse, status: number, type: string, text: string): void {
  if (ASCII.test(text)) answerAscii(response, status, type, text)
  else answerPlainly(response, status, type, text)
}

/** Like `answerQuickly`, for a text that is known to be printable ASCII. */
export function answerAscii(response: ServerResponse, status: number, type: string, text: string): void {
  const head = headFor(response, status, type, text.length)
  if (head === undefined) answerPlainly(response, status, type, text)
  else {
    response.statusCode = status
    innerOf(response)._header = head
    // Latin-1 is written faster than UTF-8, and is the same for ASCII.
    response.end(text, 'latin1')
  }
}

function answerPlainly(response: ServerResponse, status: number, type: string, text: string): void {
  const length = String(Buffer.byteLength(text))
  const fields = ['Content-Type', type, 'Content-Length', length, 'X-Content-Type-Options', 'nosniff']
  response.writeHead(status, fields).end(text)
}

const ASCII = /^[\x20-\x7e]*$/

const innerOf = (response: ServerResponse) => response as unknown as Inner

type Head = { second: number; status: number; type: string; length: number; idle: number; text: string }

/** The head of the last response. */
let last: Head = { second: 0, status: 0, type: '', length: 0, idle: 0, text: '' }

/** The head; undefined if the response needs more than a plain head on a keep-alive connection. */
function headFor(response: ServerResponse, status: number, type: string, length: number): string | undefined {
  const { _header, _expect_continue, _keepAliveTimeout: idle } = innerOf(response)
  const isPlain = _header === null && !_expect_continue && response.shouldKeepAlive && response.sendDate
  if (!isPlain || !(idle > 0) || response.getHeaderNames().length > 0) return undefined
  const second = Math.floor(Date.now() / 1_000)
  const isSame =
    last.second === second &&
    last.status === status &&
    last.length === length &&
    last.type === type &&
    last.idle === idle
  if (!isSame) last = { second, status, type, length, idle, text: makeHead(status, type, length, idle) }
  return last.text
}

function makeHead(status: number, type: string, length: number, idle: number): string {
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${type}`,
    `Content-Length: ${length}`,
    'X-Content-Type-Options: nosniff',
    `Date: ${new Date().toUTCString()}`,
    'Connection: keep-alive',
    `Keep-Alive: timeout=${Math.floor(idle / 1_000)}`,
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}
