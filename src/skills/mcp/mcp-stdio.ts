import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { createMcpServer, type McpOptions } from './mcp-server.ts'

/**
 * Serves MCP on standard input and output, for `trivium mcp`. Nothing else may write to `output`. Resolves
 * when the client closes the input.
 */
export async function serveMcpStdio(
  options: Omit<McpOptions, 'rootId'>,
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Promise<void> {
  const server = createMcpServer({ ...options, rootId: `mcp-${randomUUID()}` })
  const ended = new Promise<void>((resolve) => {
    input.once('end', resolve)
    input.once('close', resolve)
  })
  await server.connect(new StdioServerTransport(input, output))
  await ended
  await server.close()
}
