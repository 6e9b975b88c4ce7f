import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { describeFault, type McpServer } from '../../core/mcp.ts'
import { loadPart } from '../../core/parts.ts'
import { MINUTE } from '../../core/units.ts'
import { didYouMean, quote } from '../../lib/nearest.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { table } from '../../lib/text-table.ts'
import { createGuardedFetch } from '../../runtime/mcp/guarded-fetch.ts'
import { createMcpLogins } from '../../runtime/mcp/logins.ts'
import { type AddCommand, type CommandContext, type Environs, loadFor, usage } from '../command.ts'
import { connect } from '../connection.ts'
import { serveMcp } from '../serve-mcp.ts'
import { show } from '../terminal.ts'

export const addMcp: AddCommand = (program, context) => {
  const mcp = program.command('mcp')
  mcp
    .command('list')
    .description('the MCP servers of routes.yaml, with their tools and problems')
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

function listOf(servers: readonly JsonObject[]): Printable {
  if (servers.length === 0) return noData('There are no MCP servers: add them under `mcp:` in routes.yaml.')
  const rows = servers.map(({ name, state, tools, faults, detail }) => {
    const problems = objectsIn(faults).map(describeFault)
    return [name, state, tools, [detail, ...problems].join('\n')]
  })
  return table(['server', '', 'tools', ''], rows)
}

/** How long (ms) to wait for a person's consent. */
const CONSENT_TIMEOUT = 10 * MINUTE

/**
 * `trivium mcp login <server>`: a person consents in a browser on this machine, then the daemon
 * connects. Throws `login_failed`.
 */
async function logIn(name: string, port: number, context: CommandContext): Promise<void> {
  const environs = context.environs()
  const { mcp, daemon } = await loadFor(environs)
  const server = mcp.servers.find((one) => one.name === name)
  if (!server) {
    const known = mcp.servers.map((one) => one.name)
    throw new TriviumError('not_found', {
      path: `MCP server ${quote(name)} in routes.yaml`,
      hint: didYouMean(name, known),
    })
  }
  if (server.url === undefined) throw usage(`The MCP server ${name} is a command, which has no login.`)
  const terminal = context.terminal()
  try {
    await consent(server, daemon.dataDir, port, environs, (text) => terminal.err(text))
  } catch (cause) {
    if (cause instanceof TriviumError) throw cause
    // `fetch` puts the reason of a failure into the cause of its error.
    const reason = reasonOf(pathGet(cause, 'cause') ?? cause)
    throw new TriviumError('login_failed', { reason }, { cause })
  }
  await connect(environs)
    .then((running) => running.reload())
    .catch(() => {})
  terminal.out(`Logged in to ${name}.\n`)
}

/**
 * Listens for the redirect on 127.0.0.1, prints the address to consent at, and stores the tokens.
 * Throws if there is no consent.
 */
async function consent(
  server: McpServer,
  dataDir: string,
  port: number,
  { version }: Environs,
  tell: (text: string) => void,
): Promise<void> {
  const { Client, StreamableHTTPClientTransport, UnauthorizedError } = await loadPart(
    'mcp',
    () => import('@modelcontextprotocol/client'),
  )
  const state = randomBytes(16).toString('base64url')
  /** The query of the redirect. */
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>()
  const listener = createServer((request, response) => {
    // Undefined for a path that is no address, such as `//`.
    const query = URL.parse(request.url ?? '/', 'http://127.0.0.1')?.searchParams
    const isOurs = query?.get('state') === state
    response.writeHead(isOurs ? 200 : 400, { 'content-type': 'text/plain', connection: 'close' })
    response.end(isOurs ? 'Done. This page can be closed.\n' : 'This login was not started here.\n')
    if (isOurs) resolve(query)
  })
  listener.listen(port, '127.0.0.1')
  await once(listener, 'listening')
  const timer = setTimeout(() => reject(new Error('there was no consent within 10 minutes')), CONSENT_TIMEOUT)
  try {
    const redirectUrl = `http://127.0.0.1:${Object(listener.address()).port}/callback`
    const tellAddress = (address: URL) =>
      tell(`Open this in a browser on this machine, and consent:\n${address}\n`)
    const logins = createMcpLogins(dataDir)
    const authProvider = await logins.begin(server, { redirectUrl, state, show: tellAddress })
    const { url = '' } = server
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      authProvider,
      fetch: createGuardedFetch({ ...server, url }),
    })
    const client = new Client({ name: 'trivium', version })
    try {
      await client.connect(transport)
      await client.close()
      throw new Error('the server does not require a login')
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error
    }
    const params = await promise
    const error = params.get('error')
    if (error) throw new Error(`${error}: ${params.get('error_description') ?? 'it was not allowed'}`)
    await transport.finishAuth(params)
  } finally {
    clearTimeout(timer)
    listener.close()
    listener.closeAllConnections()
  }
}
