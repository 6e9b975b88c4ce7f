import { randomUUID } from 'node:crypto'
import { isJsonObject, objectsIn } from '../../core/json.ts'
import type { AddCommand, Environs } from '../command.ts'
import { connect } from '../connection.ts'

/** `trivium mcp`. */
export const addMcp: AddCommand = (program, context) => {
  program
    .command('mcp')
    .description(
      'serve the skills of the running daemon over MCP on stdin and stdout, for assistants and editors',
    )
    .action(() => serveMcp(context.environs()))
}

/** How often the daemon is asked whether it has other skills than before. */
const LOOK_EVERY = 1_000

/**
 * Serves the skills of the running daemon over MCP on stdin and stdout. The daemon is looked for at each call, so that this
 * outlives its restart. Resolves when the client closes stdin. Throws where no daemon runs.
 */
async function serveMcp(environs: Environs): Promise<void> {
  const client = `mcp-${randomUUID()}`
  const daemon = () => connect(environs, client)
  const fetchSkills = async () =>
    objectsIn(await (await daemon()).skills()).map(({ name, description, args }) => ({
      name: String(name),
      description: String(description),
      args: isJsonObject(args) ? args : {},
    }))
  let skills = await fetchSkills()

  // Late: the help loads every command.
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js')
  const { createMcpServer } = await import('../../skills/mcp/mcp-server.ts')
  const server = createMcpServer({
    version: environs.version,
    caller: { kind: 'mcp' },
    manager: {
      list: () => skills,
      // The ref of a callback is in no list.
      describe: (name) => ({ args: skills.find((skill) => skill.name === name)?.args ?? {} }),
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
    },
  })
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve))
  await server.connect(new StdioServerTransport())
  await ended
  await server.close()
}
