import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import type { OAuthClientProvider, Transport } from '@modelcontextprotocol/client'
import { reasonOf } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import type { McpServer } from '../../core/mcp.ts'
import { MIB, MINUTE } from '../../core/units.ts'
import { defined } from '../../lib/defined.ts'
import { mayLoseNumber, quoteExact } from '../../lib/exact-json.ts'
import { startWithoutSecrets, withoutSecrets } from '../../lib/secrets.ts'
import { createTokenBucket } from '../../lib/token-bucket.ts'
import { createExactLines } from './exact-lines.ts'
import { createGuardedFetch, type Fetch } from './guarded-fetch.ts'

/** One connection to a server. */
export type McpTransport = {
  transport: Transport
  /** Why the connection ended, for people. */
  closeReason(): string
  /** Explains a connection error for people. */
  explain(error: unknown): string
}

type Deps = {
  login: OAuthClientProvider | undefined
  log: Log
  /** Called when a connection must be closed: it sent too much, or broke off. */
  fault(reason: string): void
}

/** Minimum of the size limit (bytes) of messages, because tool lists may be larger than results. */
const MIN_LIMIT = 4 * MIB
/** Maximum characters of a line of a server's standard error. */
const MAX_LINE = 1_000
/** Maximum rate at which such lines are logged. */
const LINE_RATE = { count: 300, per: MINUTE }
/** Rate limit of messages, so that a server cannot keep this process busy. */
const MESSAGE_RATE = { count: 1_000, per: 1_000 }
/** Minimum characters of a redacted value. Shorter ones would match everywhere. */
const SHORTEST_SECRET = 6
/** A line of standard error within this time (ms) before the end may explain the end. */
const EXPLAINS_END_WITHIN = 3_000

/**
 * Makes the transport: a child process, or streamable HTTP. Nothing starts until a client connects.
 */
export async function openTransport(server: McpServer, deps: Deps): Promise<McpTransport> {
  const opened = await (server.url === undefined
    ? openProcess(server, deps)
    : openHttp(server, server.url, deps))
  const waitOf = createTokenBucket(MESSAGE_RATE, () => performance.now())
  let isReported = false
  // The client adds its own handler, and calls this one too.
  opened.transport.onmessage = () => {
    // 0: within the rate.
    if (isReported || waitOf() === 0) return
    isReported = true
    deps.fault(`it sent more than ${MESSAGE_RATE.count} messages per second`)
  }
  return opened
}

async function openProcess(server: McpServer, { log, fault }: Deps): Promise<McpTransport> {
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  // A subclass, because for its own class the library starts a second process to find the protocol
  // version.
  class ProcessTransport extends StdioClientTransport {}
  const { command = '', args, env, folder: cwd } = server
  const limit = limitOf(server)
  const transport = new ProcessTransport({
    ...defined({ command, args, env, cwd }),
    stderr: 'pipe',
    maxBufferSize: limit,
  })
  keepDigits(transport, limit)
  // The process may write the secrets in `env`, and its last lines are shown to callers.
  const secrets = Object.values(env ?? {}).filter(({ length }) => length >= SHORTEST_SECRET)
  let lastLine: string | undefined
  let lastLineAt = 0
  // An old line does not explain the end.
  const recentLine = () => (performance.now() - lastLineAt < EXPLAINS_END_WITHIN ? lastLine : undefined)
  if (transport.stderr instanceof Readable) {
    const waitOf = createTokenBucket(LINE_RATE, Date.now)
    eachLine(transport.stderr, (line, isCut) => {
      if (line.trim() === '') return
      const redact = isCut ? startWithoutSecrets : withoutSecrets
      lastLine = redact(line, secrets).slice(0, MAX_LINE)
      lastLineAt = performance.now()
      if (waitOf() === 0) log.info({ stderr: lastLine }, 'stderr of an MCP server')
    })
  }
  // The client adds its own handler, and calls this one too.
  transport.onerror = (error) => {
    if (error.message.includes('exceeded maximum size')) fault(tooLarge(limit))
    else log.debug({ reason: error.message }, 'an MCP server wrote a line that is not MCP')
  }
  return {
    transport,
    closeReason: () => ['its process ended', recentLine()].filter(Boolean).join('; its last words were: '),
    explain(error) {
      const code = pathGet(error, 'code') ?? pathGet(error, 'cause.code')
      if (code === 'ENOENT' && existsSync(cwd)) return `there is no command ${command}; ${remedyFor(command)}`
      if (code === 'ENOENT') return `there is no folder ${cwd} to start it in`
      if (code === 'EACCES') return `${command} is not executable`
      return [reasonOf(error), recentLine()].filter(Boolean).join('; its last words were: ')
    },
  }
}

/**
 * Quotes long numbers in the output of the process, because the library would round them. Uses a
 * private field of the library.
 */
function keepDigits(transport: Transport, limit: number): void {
  const buffer = Object(Reflect.get(transport, '_readBuffer'))
  const { append } = buffer
  if (typeof append !== 'function') return
  const lines = createExactLines(limit)
  buffer.append = (chunk: Buffer) => append.call(buffer, lines.add(chunk))
}

/** Calls `onLine` with the start of each line. Endless lines do not fill the memory. */
function eachLine(input: Readable, onLine: (line: string, isCut: boolean) => void): void {
  let line = ''
  let length = 0
  // Keeps more than is shown, because redaction may shorten the line.
  const add = (text: string) => {
    line += text.slice(0, 2 * MAX_LINE - line.length)
    length += text.length
  }
  const end = () => {
    onLine(line, length > line.length)
    line = ''
    length = 0
  }
  input.setEncoding('utf8').on('data', (chunk: string) => {
    const [first = '', ...more] = chunk.split(/[\r\n]/)
    add(first)
    for (const text of more) {
      end()
      add(text)
    }
  })
  input.on('end', end)
}

const REMEDIES = new Map([
  ['npx', 'install Node.js'],
  ['node', 'install Node.js'],
  ['uvx', 'install uv (docs.astral.sh/uv)'],
  ['uv', 'install uv (docs.astral.sh/uv)'],
  ['docker', 'install Docker'],
  ['python', 'install Python'],
  ['python3', 'install Python'],
])

function remedyFor(command: string): string {
  return REMEDIES.get(command) ?? 'install it, or use its full path'
}

async function openHttp(server: McpServer, address: string, { login, fault }: Deps): Promise<McpTransport> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const limit = limitOf(server)
  const transport = new StreamableHTTPClientTransport(new URL(address), {
    // Not `requestInit`: servers contacted by a login would get its headers too.
    fetch: limitedFetch(createGuardedFetch({ ...server, url: address }), limit, fault),
    ...defined({ authProvider: login }),
  })
  return {
    transport,
    closeReason: () => 'it closed the connection',
    explain: innermost,
  }
}

/** The reason of the innermost cause: the outer error is only `fetch failed`. */
function innermost(error: unknown): string {
  const cause = error instanceof Error ? (pathGet(error, 'data.cause') ?? error.cause) : undefined
  return cause instanceof Error ? innermost(cause) : reasonOf(error)
}

/**
 * A fetch function that breaks off a response, or an event of a stream, over the limit. Calls
 * `fault` then, and when the response to a call was cut off: the library would wait for it forever.
 */
function limitedFetch(fetch: Fetch, limit: number, fault: (reason: string) => void): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (!response.body) return response
    const { status, statusText, headers } = response
    const isStream = /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
    const read = async function* (body: ReadableStream<Uint8Array>) {
      let size = 0
      let previous = Buffer.alloc(0)
      try {
        for await (const chunk of body) {
          // The blank line at the end of an event may be in two chunks.
          const bytes = Buffer.concat([previous.subarray(-2), chunk])
          previous = bytes
          const end = isStream ? lastEventEnd(bytes) : -1
          size = end < 0 ? size + chunk.byteLength : bytes.length - end
          if (size > limit) throw new Error(tooLarge(limit))
          yield chunk
        }
      } catch (error) {
        if (size > limit) fault(tooLarge(limit))
        else if (isToolCall(init) && !init?.signal?.aborted) fault('its response was cut off')
        throw error
      }
    }
    const exact = isStream ? exactEvents(read(response.body), limit) : exactText(read(response.body))
    const limited = new Response(ReadableStream.from(exact), { status, statusText, headers })
    Object.defineProperty(limited, 'url', { value: response.url })
    return limited
  }
}

/** The position of the last blank line, which ends an event, or -1. */
function lastEventEnd(bytes: Buffer): number {
  return Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'))
}

async function* exactEvents(chunks: AsyncIterable<Uint8Array>, limit: number) {
  const lines = createExactLines(limit)
  for await (const chunk of chunks) yield lines.add(chunk)
  yield lines.rest()
}

/** For a response that is not a stream: it is one JSON text. */
async function* exactText(chunks: AsyncIterable<Uint8Array>) {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  const whole = Buffer.concat(all)
  const text = whole.toString()
  yield mayLoseNumber(text) ? Buffer.from(quoteExact(text)) : whole
}

/**
 * Whether a request calls a tool. Only then does it matter that the response was cut off. A stream
 * of notifications may end: the regular check finds changes of tools.
 */
function isToolCall(init: RequestInit | undefined): boolean {
  return typeof init?.body === 'string' && init.body.includes('"tools/call"')
}

function limitOf({ maxResult }: McpServer): number {
  return Math.max(MIN_LIMIT, 2 * maxResult)
}

function tooLarge(limit: number): string {
  return `it sent more than ${limit} bytes at once (max-result)`
}
