import type { OAuthClientProvider } from '@modelcontextprotocol/client'
import type { McpServer } from '../../core/mcp.ts'
import { defined } from '../../lib/defined.ts'
import { type Consent, createLogin } from './login.ts'
import { createLoginFiles } from './login-files.ts'

/** OAuth logins of MCP servers. */
export function createMcpLogins(dataDir: string) {
  const files = createLoginFiles(dataDir)

  return {
    /**
     * What authenticates at a server. Undefined if nobody has logged in yet, if `headers`
     * authenticate, or if the server has no URL.
     */
    async of(server: McpServer): Promise<OAuthClientProvider | undefined> {
      const { url, headers = {}, oauth } = server
      if (url === undefined || Object.keys(headers).some((name) => /^authorization$/i.test(name)))
        return undefined
      if (oauth?.grant === 'client_credentials') {
        const { ClientCredentialsProvider } = await import('@modelcontextprotocol/client')
        const { clientId = '', clientSecret = '', issuer, scope } = oauth
        const options = { clientId, clientSecret, ...defined({ scope, expectedIssuer: issuer }) }
        return new ClientCredentialsProvider(options)
      }
      const stored = await files.read(server)
      return stored.tokens && createLogin(server, stored, files)
    },
    /** Starts an interactive login, which replaces the previous one. */
    async begin(server: McpServer, consent: Consent): Promise<OAuthClientProvider> {
      await files.change(server, { client: undefined, tokens: undefined, redirectUrl: undefined })
      return createLogin(server, {}, files, consent)
    },
  }
}
