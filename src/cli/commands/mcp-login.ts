import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import type { McpServer } from '../../core/mcp.ts'
import { noSuch } from '../../lib/nearest.ts'
import { createMcpLogins } from '../../skills/mcp/logins.ts'
import { type CommandContext, type Environs, loadFor, usage } from '../command.ts'
import { connect } from '../connection.ts'

/** Ms that a person has to consent. */
const PATIENCE = 600_000

/** `trivium mcp login <server>`: a person consents in a browser on this machine; the daemon then connects. Throws `login_failed`. */
export async function logIn(name: string, port: number, context: CommandContext): Promise<void> {
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
  const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await import(
    '@modelcontextprotocol/client'
  )
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
      requestInit: { headers: server.headers ?? {} },
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
