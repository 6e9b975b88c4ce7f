import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
} from '@modelcontextprotocol/client'
import type { McpServer } from '../../core/mcp.ts'
import { defined } from '../../lib/defined.ts'
import type { LoginFiles, StoredLogin } from './login-files.ts'

/** An interactive consent. `show`: shows the address that the person has to open. */
export type Consent = { redirectUrl: string; state: string; show(address: URL): void }

/**
 * The login of a server for the MCP library. Without `consent`, tokens are refreshed, but no new
 * login is started.
 */
export function createLogin(
  server: McpServer,
  { redirectUrl: lastRedirect }: Pick<StoredLogin, 'redirectUrl'>,
  { read, change }: LoginFiles,
  consent?: Consent,
): OAuthClientProvider {
  const { clientId, clientSecret, issuer, scope } = server.oauth ?? {}
  const redirectUrl = consent?.redirectUrl ?? lastRedirect ?? 'http://127.0.0.1/callback'
  let codeVerifier = ''
  let discovery: OAuthDiscoveryState | undefined
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'Trivium',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: clientSecret === undefined ? 'none' : 'client_secret_basic',
      ...defined({ scope }),
    },
    state: () => consent?.state ?? '',
    async clientInformation() {
      if (clientId !== undefined)
        return { client_id: clientId, ...defined({ client_secret: clientSecret, issuer }) }
      return (await read(server)).client
    },
    // A client id from the file needs no registration.
    ...(clientId === undefined && {
      saveClientInformation: (client: StoredOAuthClientInformation) => change(server, { client }),
    }),
    // The code and the tokens must come from the same authorization server.
    ...(consent && {
      saveDiscoveryState(state: OAuthDiscoveryState) {
        discovery = state
      },
      discoveryState: () => discovery,
    }),
    tokens: async () => (await read(server)).tokens,
    saveTokens: (tokens) => change(server, { tokens, redirectUrl }),
    redirectToAuthorization: (address) => consent?.show(address),
    saveCodeVerifier(verifier) {
      codeVerifier = verifier
    },
    codeVerifier: () => codeVerifier,
    async invalidateCredentials(what) {
      if (what === 'tokens' || what === 'all') await change(server, { tokens: undefined })
    },
  }
}
