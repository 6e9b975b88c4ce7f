import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { reasonOf } from '../core/errors.ts'

/**
 * Carries MCP messages between stdin and stdout and the daemon's `/mcp`, so that the skills run where the
 * roads are. Resolves when the client closes stdin. Problems go to stderr: stdout is the protocol's.
 */
export async function bridgeMcp(url: URL, token: string): Promise<void> {
  const stdio = new StdioServerTransport()
  const http = new StreamableHTTPClientTransport(url, {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  const complain = (error: unknown) => process.stderr.write(`trivium mcp: ${reasonOf(error)}\n`)
  http.onmessage = (message) => void stdio.send(message).catch(complain)
  // The first message opens the session that the others belong to.
  let session: Promise<void> | undefined
  stdio.onmessage = (message) => {
    const sent = session ? session.then(() => http.send(message)) : http.send(message)
    session ??= sent
    sent.catch(complain)
  }
  http.onerror = complain
  const ended = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve)
    stdio.onclose = resolve
  })
  await http.start()
  await stdio.start()
  await ended
  await http.terminateSession().catch(complain)
  await http.close()
}
