import { reasonOf, TriviumError } from '../../core/errors.ts'
import { pathGet } from '../../core/json.ts'
import { isLoopback } from '../../lib/http.ts'
import { type AddCommand, usage } from '../command.ts'
import { show } from '../terminal.ts'

type Login = Record<'deviceUrl' | 'tokenUrl' | 'clientId' | 'scope', string> & { clientSecret?: string }

type LoginOptions = Partial<Login> & { clientId: string; tenant: string; scope: string }

/** Microsoft's scopes for reading and sending mail; `offline_access` returns the refresh token. */
const MICROSOFT_SCOPE =
  'offline_access https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send'

export const addEmail: AddCommand = (program, context) => {
  program
    .command('email')
    .description('get the OAuth2 login of a mailbox')
    .command('login')
    .description(
      'log in with a code on any device, and print the refresh token for .env (Microsoft by default; docs/email.md)',
    )
    .requiredOption('--client-id <id>', 'id of the app registered with the provider')
    .option('--client-secret <secret>', 'if the app has one; preferably in the variable OAUTH_SECRET')
    .option('--tenant <id>', "Microsoft's directory: common, consumers, or that of a company", 'common')
    .option('--scope <scopes>', 'requested scopes', MICROSOFT_SCOPE)
    .option('--device-url <url>', 'device authorization endpoint of another provider (RFC 8628)')
    .option('--token-url <url>', 'token endpoint of another provider')
    .action(async ({ clientId, tenant, scope, ...options }: LoginOptions) => {
      const terminal = context.terminal()
      const clientSecret = options.clientSecret || context.environs().env.OAUTH_SECRET
      const microsoft = `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/oauth2/v2.0`
      const { deviceUrl = `${microsoft}/devicecode`, tokenUrl = `${microsoft}/token` } = options
      const hasOnlyOne = (options.deviceUrl === undefined) !== (options.tokenUrl === undefined)
      if (hasOnlyOne) throw usage('Give both --device-url and --token-url, or neither.')
      const login = { deviceUrl, tokenUrl, clientId, scope, ...(clientSecret ? { clientSecret } : {}) }
      const refreshToken = await deviceLogin(login, (text) => terminal.err(text))
      const secretKey = clientSecret ? `client-secret: "\${OAUTH_SECRET}", ` : ''
      show(terminal, { refreshToken, tokenUrl }, () =>
        [
          'Put this into .env:',
          '',
          `OAUTH_CLIENT=${clientId}`,
          `OAUTH_REFRESH=${refreshToken}`,
          ...(clientSecret ? [`OAUTH_SECRET=${clientSecret}`] : []),
          '',
          'and this into the gateway, under imap and under smtp:',
          '',
          `oauth2: { client-id: "\${OAUTH_CLIENT}", ${secretKey}refresh-token: "\${OAUTH_REFRESH}", token-url: "${tokenUrl}" }`,
        ].join('\n'),
      )
    })
}

/** Logs in with a device code (RFC 8628). Returns the refresh token. Throws `login_failed`. */
async function deviceLogin(
  { deviceUrl, tokenUrl, clientId, clientSecret, scope }: Login,
  tell: (text: string) => void,
): Promise<string> {
  const oauth = await import('openid-client')
  const endpoints = { device_authorization_endpoint: deviceUrl, token_endpoint: tokenUrl }
  // A public client has no secret.
  const secret = clientSecret ? oauth.ClientSecretPost(clientSecret) : oauth.None()
  const provider = new oauth.Configuration({ issuer: tokenUrl, ...endpoints }, clientId, {}, secret)
  // The library requires TLS; plain HTTP is only allowed on this machine.
  const isLocal = [deviceUrl, tokenUrl].every((url) => isLoopback(URL.parse(url)?.hostname ?? ''))
  if (isLocal) oauth.allowInsecureRequests(provider)
  try {
    const prompt = await oauth.initiateDeviceAuthorization(provider, { scope })
    const minutes = Math.max(1, Math.round(prompt.expires_in / 60))
    const { verification_uri, user_code } = prompt
    tell(`Open ${verification_uri} and type ${user_code} (within ${minutes} min). Log in as the mailbox.\n`)
    const { refresh_token } = await oauth.pollDeviceAuthorizationGrant(provider, prompt)
    if (!refresh_token)
      throw new Error('the provider returned no refresh token; the scope must include offline_access')
    return refresh_token
  } catch (cause) {
    const description = String(pathGet(cause, 'error_description') ?? reasonOf(cause))
    const [firstLine = ''] = description.split(/\r?\n/)
    const code = pathGet(cause, 'error')
    throw new TriviumError('login_failed', { reason: code ? `${code}: ${firstLine}` : firstLine }, { cause })
  }
}
