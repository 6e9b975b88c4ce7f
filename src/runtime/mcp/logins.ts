import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { z } from 'zod'
import { isJsonObject, parseJson } from '../../core/json.ts'
import type { McpServer } from '../../core/mcp.ts'
import { defined } from '../../lib/defined.ts'
import { orNothing, writeWhole } from '../../lib/disk.ts'

/** A stored login. The library validates the parts it uses. */
const keptSchema = z.object({
  /** A login belongs to one URL: another server must never get its tokens. */
  url: z.string(),
  redirectUrl: z.string().exactOptional(),
  client: z.custom<StoredOAuthClientInformation>(isJsonObject).exactOptional(),
  tokens: z.custom<StoredOAuthTokens>(isJsonObject).exactOptional(),
})

type Kept = z.output<typeof keptSchema>

/** An interactive consent: the redirect URL, and a function that shows the address to open. */
export type Consent = { redirectUrl: string; state: string; show(address: URL): void }

/** OAuth logins of MCP servers, in one file each in the data directory, readable by the owner only. */
export function createMcpLogins(dataDir: string) {
  const dir = join(dataDir, 'mcp')

  const read = async ({ name, url = '' }: McpServer): Promise<Kept> => {
    const text = await readFile(join(dir, `${name}.json`), 'utf8').catch(orNothing)
    const { data } = keptSchema.safeParse(parseJson(text ?? ''))
    return data?.url === url ? data : { url }
  }
  const change = async (server: McpServer, values: { [K in keyof Kept]?: unknown }) => {
    const kept = keptSchema.parse(defined({ ...(await read(server)), ...values }))
    await mkdir(dir, { recursive: true, mode: 0o700 })
    await writeWhole(join(dir, `${server.name}.json`), `${JSON.stringify(kept, null, 2)}\n`)
  }

  /** With `consent`, starts a new login; without, an expired login stays expired. */
  const provider = (server: McpServer, kept: Kept, consent?: Consent): OAuthClientProvider => {
    const { clientId, clientSecret, issuer, scope } = server.oauth ?? {}
    const redirectUrl = consent?.redirectUrl ?? kept.redirectUrl ?? 'http://127.0.0.1/callback'
    let verifier = ''
    let found: OAuthDiscoveryState | undefined
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
          found = state
        },
        discoveryState: () => found,
      }),
      tokens: async () => (await read(server)).tokens,
      saveTokens: (tokens) => change(server, { tokens, redirectUrl }),
      redirectToAuthorization: (address) => consent?.show(address),
      saveCodeVerifier(given) {
        verifier = given
      },
      codeVerifier: () => verifier,
      async invalidateCredentials(what) {
        if (what === 'tokens' || what === 'all') await change(server, { tokens: undefined })
      },
    }
  }

  return {
    /** The login of a server; undefined before the first login, or if `headers` authenticate. */
    async of(server: McpServer): Promise<OAuthClientProvider | undefined> {
      const { url, headers = {}, oauth } = server
      if (url === undefined || Object.keys(headers).some((name) => /^authorization$/i.test(name)))
        return undefined
      if (oauth?.grant === 'client_credentials') {
        const { ClientCredentialsProvider } = await import('@modelcontextprotocol/client')
        const { clientId = '', clientSecret = '', issuer, scope } = oauth
        const given = { clientId, clientSecret, ...defined({ scope, expectedIssuer: issuer }) }
        return new ClientCredentialsProvider(given)
      }
      const kept = await read(server)
      return kept.tokens && provider(server, kept)
    },
    /** Starts an interactive login, which replaces the previous one. */
    async begin(server: McpServer, consent: Consent): Promise<OAuthClientProvider> {
      await change(server, { client: undefined, tokens: undefined, redirectUrl: undefined })
      return provider(server, { url: server.url ?? '' }, consent)
    },
  }
}
