import type { AddCommand } from '../command.ts'
import { controlOf } from '../connection.ts'

/** `trivium mcp`. */
export const addMcp: AddCommand = (program, context) => {
  program
    .command('mcp')
    .description(
      'serve the skills of the running daemon over MCP on stdin and stdout, for assistants and editors',
    )
    .action(async () => {
      const { bridgeMcp } = await import('../mcp-bridge.ts')
      const find = async () => {
        const { control, token } = await controlOf(context.environs())
        return { url: new URL(`http://${control}/mcp`), token }
      }
      await find()
      await bridgeMcp(find)
    })
}
