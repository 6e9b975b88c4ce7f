import type { McpHttp } from '../skills/mcp/mcp-http.ts'

/** MCP that is loaded with its first request: most daemons never get one. */
export function lazyMcp(load: () => Promise<McpHttp>): McpHttp {
  let loading: Promise<McpHttp> | undefined
  return {
    async handle(request, response, body) {
      loading ??= load()
      await (await loading).handle(request, response, body)
    },
    async close() {
      await (await loading)?.close()
    },
  }
}
