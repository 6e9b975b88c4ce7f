import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import type { McpServer } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { noSuch } from '../../lib/nearest.ts'
import { createGuardedFetch } from '../../runtime/mcp/guarded-fetch.ts'
import { createMcpLogins } from '../../runtime/mcp/logins.ts'
import { type AddCommand, type CommandContext, type Environs, loadFor, usage } from '../command.ts'
import { connect } from '../connection.ts'
import { show, table } from '../terminal.ts'

/** `trivium mcp`. */
export const addMcp: AddCommand = (program, context) => {
  const mcp = program.command('mcp')
  mcp
    .command('list')
    .description('the MCP servers of routes.yaml: their tools, and why some are left out')
    .action(async () => {
      const { mcp: servers } = Object(await (await connect(context.environs())).status())
      show(context.terminal(), servers, () => listOf(objectsIn(servers)))
    })
  mcp
    .description(
      'serve the skills of the running daemon over MCP on stdin and stdout, for assistants and editors',
    )
    .action(() => serveMcp(context.environs()))
  mcp
    .command('login <server>')
    .description('log in to an MCP server of routes.yaml in a browser (OAuth)')
    .option('--port <number>', 'port of the redirect address; default: any free port', '0')
    .action((server: string, { port }: { port: string }) => logIn(server, Number(port), context))
}

function listOf(servers: readonly JsonObject[]): string {
  if (servers.length === 0) return 'There are no MCP servers: add them under `mcp:` in routes.yaml.'
  const rows = servers.map(({ name, state, tools, faults, detail }) => {
    const odd = objectsIn(faults).map(
      ({ tool, reason, skipped }) => `${skipped ? 'left out' : 'odd'}: ${JSON.stringify(tool)}, ${reason}`,
    )
    return [name, state, tools, [detail, ...odd].join('\n')]
  })
  return table(['server', '', 'tools', ''], rows)
}

const loadClient = () => loadPart('mcp', () => import('@modelcontextprotocol/client'))

type Tell = (message: JSONRPCMessage) => void
/** Of the older protocol: what the daemon calls it. */
type Session = { id?: string | undefined; version?: string | undefined }

/**
 * Hands what comes in on stdin to `/mcp` of the daemon, and back, until stdin ends. The daemon is looked for with each message, so
 * that this outlives its restart; a session of the older protocol is begun anew then. Throws where none runs at first.
 */
async function serveMcp(environs: Environs): Promise<void> {
  await connect(environs)
  // Late: the help loads every command.
  const { SdkHttpError, StreamableHTTPClientTransport } = await loadClient()
  const { StdioServerTransport } = await import('@modelcontextprotocol/server/stdio')
  const { Agent, fetch } = await import('undici')
  // A call may take longer than fetch's five minutes.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const stdio = new StdioServerTransport()
  const say: Tell = (message) => void stdio.send(message)
  /** How the client began its session. */
  let greetings: JSONRPCMessage[] = []
  let session: Session = {}
  /** Settles once a session that was forgotten is begun anew. */
  let renewal = Promise.resolve()
  const open = new Map<unknown, StreamableHTTPClientTransport>()

  /** Hands on one message. Resolves once a request is answered; rejects where it is not. */
  const pass = async (message: JSONRPCMessage, tell: Tell, within: Session): Promise<void> => {
    const { url, headers } = (await connect(environs)).mcp
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers },
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 0,
        maxReconnectionDelay: 0,
        reconnectionDelayGrowFactor: 1,
      },
      // The types of the DOM and of undici differ in what neither uses here.
      fetch: ((input: string, init: object) =>
        fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch,
      ...(within.id === undefined ? {} : { sessionId: within.id }),
    })
    const id = 'method' in message && 'id' in message ? message.id : undefined
    const answered = Promise.withResolvers<void>()
    if (id === undefined) answered.resolve()
    // Sending may fail before anybody waits for it.
    answered.promise.catch(() => {})
    transport.onmessage = (answer) => {
      const isAnswer = !('method' in answer) && answer.id === id
      if (isAnswer && pathGet(message, 'method') === 'initialize')
        session = { id: transport.sessionId, version: String(pathGet(answer, 'result.protocolVersion')) }
      tell(answer)
      if (isAnswer) answered.resolve()
    }
    const reason = 'the daemon went away; what was called may have run'
    transport.onerror = (cause) =>
      answered.reject(new TriviumError('cancelled', { what: 'The call', reason }, { cause }))
    await transport.start()
    if (within.version) transport.setProtocolVersion(within.version)
    open.set(id ?? transport, transport)
    try {
      await transport.send(message)
      await answered.promise
    } finally {
      open.delete(id ?? transport)
      // What the daemon says of itself comes on the connection of this one.
      if (pathGet(message, 'method') !== 'notifications/initialized') await transport.close()
    }
  }
  const greet = async (forgotten: Session) => {
    try {
      session = {}
      for (const greeting of greetings) await pass(greeting, () => {}, session)
    } catch (error) {
      // So that the next message tries it again.
      session = forgotten
      throw error
    }
  }
  /** Once for all messages that were refused. */
  const renew = (forgotten: Session) => {
    if (session === forgotten) renewal = greet(forgotten)
    return renewal
  }
  const isForgotten = (error: unknown) => error instanceof SdkHttpError && error.status === 404
  const take = async (message: JSONRPCMessage): Promise<void> => {
    const method = pathGet(message, 'method')
    if (method === 'initialize') greetings = []
    if (method === 'initialize' || method === 'notifications/initialized') greetings.push(message)
    // By the current protocol a request is cancelled by the end of its connection.
    if (method === 'notifications/cancelled' && greetings.length === 0)
      return open.get(pathGet(message, 'params.requestId'))?.close()
    try {
      // Whoever began it tells how it ended.
      await renewal.catch(() => {})
      const used = session
      await pass(message, say, used).catch(async (error: unknown) => {
        if (!isForgotten(error) || greetings.length === 0 || method === 'initialize') throw error
        await renew(used)
        await pass(message, say, session)
      })
    } catch (error) {
      if (!('method' in message && 'id' in message)) return
      say({ jsonrpc: '2.0', id: message.id, error: { code: -32000, message: reasonOf(error) } })
    }
  }
  stdio.onmessage = (message) => void take(message)
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve))
  await stdio.start()
  await ended
  for (const transport of open.values()) await transport.close()
  await dispatcher.destroy()
}

/** Ms that a person has to consent. */
const PATIENCE = 600_000

/** `trivium mcp login <server>`: a person consents in a browser on this machine; the daemon then connects. Throws `login_failed`. */
async function logIn(name: string, port: number, context: CommandContext): Promise<void> {
  const environs = context.environs()
  const { mcp, daemon } = await loadFor(environs)
  const server = mcp.servers.find((one) => one.name === name)
  if (!server) {
    const known = mcp.servers.map((one) => one.name)
    throw usage(`routes.yaml: ${noSuch('MCP server', name, known)}.`)
  }
  if (server.url === undefined) throw usage(`The MCP server ${name} is a command: nobody logs in to it.`)
  const terminal = context.terminal()
  try {
    await consent(server, daemon.dataDir, port, environs, (text) => terminal.err(text))
  } catch (cause) {
    if (cause instanceof TriviumError) throw cause
    throw new TriviumError('login_failed', { reason: reasonOf(pathGet(cause, 'cause') ?? cause) }, { cause })
  }
  await connect(environs)
    .then((running) => running.reload())
    .catch(() => {})
  terminal.out(`Logged in to ${name}.\n`)
}

async function consent(
  server: McpServer,
  dataDir: string,
  port: number,
  { version }: Environs,
  tell: (text: string) => void,
): Promise<void> {
  const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await loadClient()
  const state = randomBytes(16).toString('base64url')
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  const listener = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    const isOurs = searchParams.get('state') === state
    response.writeHead(isOurs ? 200 : 400, { 'content-type': 'text/plain', connection: 'close' })
    response.end(isOurs ? 'Done. This page can be closed.\n' : 'This is not the login that was begun.\n')
    if (isOurs) resolve(searchParams)
  })
  listener.listen(port, '127.0.0.1')
  await once(listener, 'listening')
  const timer = setTimeout(() => reject(new Error('nobody consented within 10 minutes')), PATIENCE)
  try {
    const redirectUrl = `http://127.0.0.1:${Object(listener.address()).port}/callback`
    const show = (address: URL) => tell(`Open this in a browser on this machine, and consent:\n${address}\n`)
    const authProvider = await createMcpLogins(dataDir).begin(server, { redirectUrl, state, show })
    const url = new URL(server.url ?? '')
    const transport = new StreamableHTTPClientTransport(url, {
      authProvider,
      fetch: createGuardedFetch(server),
    })
    const client = new Client({ name: 'trivium', version })
    try {
      await client.connect(transport)
      await client.close()
      throw new Error('the server wants no login')
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error
    }
    const params = await promise
    const refused = params.get('error')
    if (refused) throw new Error(`${refused}: ${params.get('error_description') ?? 'it was not allowed'}`)
    await transport.finishAuth(params)
  } finally {
    clearTimeout(timer)
    listener.close()
    listener.closeAllConnections()
  }
}
