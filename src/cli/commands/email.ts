import { defined } from '../../lib/defined.ts'
import { type AddCommand, usage } from '../command.ts'
import { deviceLogin } from '../device-login.ts'
import { show } from '../terminal.ts'

type LoginOptions = {
  clientId: string
  clientSecret?: string
  tenant: string
  scope: string
  deviceUrl?: string
  tokenUrl?: string
}

/** What reading and sending mail takes at Microsoft; `offline_access` brings the refresh token. */
const MICROSOFT_SCOPE =
  'offline_access https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send'

/** `trivium email login`. */
export const addEmail: AddCommand = (program, context) => {
  program
    .command('email')
    .description('get the OAuth2 login of a mailbox')
    .command('login')
    .description(
      'log in with a code on any device, and print the refresh token for .env (Microsoft by default; docs/email.md)',
    )
    .requiredOption('--client-id <id>', 'of the app that was registered with the provider')
    .option('--client-secret <secret>', 'where the app has one; better in the variable OAUTH_SECRET')
    .option('--tenant <id>', "Microsoft's directory: common, consumers, or that of a company", 'common')
    .option('--scope <scopes>', 'what is asked for', MICROSOFT_SCOPE)
    .option('--device-url <url>', 'of another provider: where a device login begins (RFC 8628)')
    .option('--token-url <url>', 'of another provider: where tokens are given out')
    .action(async (options: LoginOptions) => {
      const terminal = context.terminal()
      const urls = urlsOf(options)
      const { clientId, scope } = options
      const clientSecret = options.clientSecret || context.environs().env.OAUTH_SECRET || undefined
      const login = { ...urls, clientId, scope, ...defined({ clientSecret }) }
      const refreshToken = await deviceLogin(login, ({ url, code, seconds }) => {
        const minutes = Math.max(1, Math.round(seconds / 60))
        terminal.err(`Open ${url} and type ${code} (within ${minutes} min). Log in as the mailbox.\n`)
      })
      const secretKey = clientSecret ? `client-secret: "\${OAUTH_SECRET}", ` : ''
      show(terminal, { refreshToken, tokenUrl: urls.tokenUrl }, () =>
        [
          'Put this into .env:',
          '',
          `OAUTH_CLIENT=${clientId}`,
          `OAUTH_REFRESH=${refreshToken}`,
          ...(clientSecret ? [`OAUTH_SECRET=${clientSecret}`] : []),
          '',
          'and this into the gateway, under imap and under smtp:',
          '',
          `oauth2: { client-id: "\${OAUTH_CLIENT}", ${secretKey}refresh-token: "\${OAUTH_REFRESH}", token-url: "${urls.tokenUrl}" }`,
        ].join('\n'),
      )
    })
}

function urlsOf({ tenant, deviceUrl, tokenUrl }: LoginOptions): { deviceUrl: string; tokenUrl: string } {
  const base = `https://login.microsoftonline.com/${encodeURIComponent(tenant)}/oauth2/v2.0`
  if (!deviceUrl && !tokenUrl) return { deviceUrl: `${base}/devicecode`, tokenUrl: `${base}/token` }
  if (!deviceUrl || !tokenUrl) throw usage('Give both --device-url and --token-url, or neither.')
  for (const url of [deviceUrl, tokenUrl]) {
    // Tokens travel encrypted, or not off this machine.
    const { protocol = '', hostname = '' } = URL.parse(url) ?? {}
    const isLocal = protocol === 'http:' && /^(127\.[\d.]+|\[::1\]|localhost)$/.test(hostname)
    if (protocol !== 'https:' && !isLocal) throw usage(`${url} is no https:// address.`)
  }
  return { deviceUrl, tokenUrl }
}
