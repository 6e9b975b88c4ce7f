import { randomUUID } from 'node:crypto'
import { isJsonObject, objectsIn } from '../../core/json.ts'
import type { McpOptions } from '../../skills/mcp/server.ts'
import type { AddCommand, Environs } from '../command.ts'
import { ask, connect } from '../connection.ts'
import { pretty } from '../terminal.ts'

/** `trivium start`. */
export const addStart: AddCommand = (program, context) => {
  program
    .command('start')
    .description('run the daemon in the foreground; SIGTERM or Ctrl-C drains, SIGHUP reloads')
    .action(async () => {
      const { start } = await import('../start.ts')
      // After the drain nothing may keep the process: not a watcher that was being set up when the signal came.
      process.exit(await start(context.environs(), context.terminal()))
    })
}

/** `trivium reload`. */
export const addReload: AddCommand = (program, context) => {
  program
    .command('reload')
    .description('make the running daemon read routes.yaml and the skills again; a bad file changes nothing')
    .action(() => ask(context, (daemon) => daemon.reload(), pretty, connect))
}

/** `trivium mcp`. */
export const addMcp: AddCommand = (program, context) => {
  program
    .command('mcp')
    .description(
      'serve the skills of the running daemon over MCP on stdin and stdout, for assistants and editors',
    )
    .action(() => serveMcp(context.environs()))
    .command('login <server>')
    .description('consent, in a browser, to what an MCP server of routes.yaml is used for (OAuth)')
    .option('--port <number>', 'of the address that the browser is sent back to; by default any', '0')
    .action(async (server: string, { port }: { port: string }) => {
      const { logIn } = await import('./mcp-login.ts')
      await logIn(server, Number(port), context)
    })
}

/** How often the daemon is asked whether it has other skills than before. */
const LOOK_EVERY = 1_000

/** The daemon is looked for at each call, so that this outlives its restart. Throws where none runs at first. */
async function serveMcp(environs: Environs): Promise<void> {
  const client = `mcp-${randomUUID()}`
  const daemon = () => connect(environs, client)
  const fetchSkills = async () =>
    objectsIn(await (await daemon()).skills()).map(({ name, description, args, annotations = {} }) => ({
      name: String(name),
      description: String(description),
      args: isJsonObject(args) ? args : {},
      metadata: { annotations },
    }))
  let skills = await fetchSkills()

  // Late: the help loads every command.
  const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
  const { createMcpServer } = await import('../../skills/mcp/server.ts')
  const manager: McpOptions['manager'] = {
    list: () => skills,
    // The ref of a callback is in no list.
    describe: (name) => skills.find((skill) => skill.name === name) ?? { args: {} },
    invoke: async (name, args, options) => (await daemon()).invoke(name, args, options?.signal),
    onChange(tell) {
      const look = async () => {
        const before = JSON.stringify(skills)
        skills = await fetchSkills()
        if (JSON.stringify(skills) !== before) tell()
      }
      // While no daemon runs there is nothing to tell.
      const timer = setInterval(() => void look().catch(() => {}), LOOK_EVERY)
      return () => clearInterval(timer)
    },
  }
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve))
  const { version } = environs
  // The daemon asks its own people: what is handed on here has no way back to this client's.
  const server = serveStdio(() => createMcpServer({ version, manager, caller: { kind: 'mcp' }, asks: false }))
  await ended
  await server.close()
}
