import { z } from 'zod'
import { requestHeaders } from '../../core/request-headers.ts'
import { MIB, MINUTE, size, timerDuration } from '../../core/units.ts'
import { camelKeys } from '../../lib/camel.ts'

const names = z.array(z.string().min(1)).min(1)
const oauth = z
  .strictObject({
    'client-id': z
      .string()
      .min(1)
      .exactOptional()
      .describe('The client, if the server does not register clients dynamically.'),
    'client-secret': z.string().min(1).exactOptional().describe('The client secret.'),
    issuer: z
      .url({ protocol: /^https?$/, error: 'expected https://…', abort: true })
      .exactOptional()
      .describe('The authorization server of the client. The credentials are sent to no other server.'),
    scope: z.string().min(1).exactOptional().describe('Scopes to request.'),
    grant: z
      .enum(['authorization_code', 'client_credentials'])
      .default('authorization_code')
      .describe(
        'authorization_code: a person signs in once with `trivium mcp login`. client_credentials: without a person.',
      ),
  })
  .transform(camelKeys)

/** Keys that only apply to servers with `command`. */
const COMMAND_KEYS = ['args', 'env', 'cwd'] as const
/** Keys that only apply to servers with `url`. */
const URL_KEYS = ['headers', 'oauth'] as const

/**
 * An entry of `mcp:` in routes.yaml: another MCP server, whose tools are the skills
 * `<name>.<tool>`. Times in ms, sizes in bytes.
 */
export const mcpServerSchema = z
  .strictObject({
    enabled: z
      .union([z.boolean(), z.enum(['auto', 'true', 'false'])], { error: 'expected true, false or auto' })
      .default(true)
      .describe('auto: enabled only if every variable in its options is set.'),
    command: z.string().min(1).exactOptional().describe('A program that speaks MCP on stdin and stdout.'),
    args: z.array(z.coerce.string()).exactOptional().describe('Arguments of the program.'),
    env: z
      .record(z.string(), z.coerce.string().describe('The value of this variable.'))
      .exactOptional()
      .describe(
        'Environment variables for the program. Apart from these it only gets HOME, PATH, USER and a few others.',
      ),
    cwd: z
      .string()
      .min(1)
      .exactOptional()
      .describe('Working directory; defaults to the folder of routes.yaml.'),
    url: z
      .url({ protocol: /^https?$/, error: 'expected https://…', abort: true })
      .exactOptional()
      .describe('A server that speaks MCP over HTTP.'),
    headers: requestHeaders.exactOptional().describe('Headers of each request.'),
    oauth: oauth.exactOptional().describe('OAuth 2 login at the server.'),
    'allow-private': z
      .boolean()
      .default(false)
      .describe('Allow a login that leads from a public server to private addresses, or to plain http.'),
    tools: names.default(['*']).describe('The tools that become skills; globs are allowed.'),
    timeout: timerDuration.default(MINUTE).describe('Timeout of one call.'),
    'max-result': size.default(4 * MIB).describe('Largest result of a call.'),
    approval: z
      .union([z.enum(['destructive', 'always', 'never']), names])
      .default('destructive')
      .describe('Tools that need an approval: destructive ones, all, none, or those listed.'),
    approvers: z.array(z.string()).default([]).describe('People who may approve, in addition to operators.'),
    access: names.exactOptional().describe('Who may use the tools, like `access` of a skill.'),
  })
  .superRefine((server, context) => {
    const fault = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', path, message, input: server })
    const { command, url } = server
    if ((command === undefined) === (url === undefined)) return fault('expected either `command` or `url`')
    for (const key of url === undefined ? URL_KEYS : COMMAND_KEYS) {
      if (server[key] === undefined) continue
      fault(`\`${key}\` goes with \`${url === undefined ? 'url' : 'command'}\``, key)
    }
    const { username, password } = new URL(url ?? 'http://none')
    if (username || password) {
      fault('remove user and password from the URL, because URLs are logged; use `headers`', 'url')
    }
    if (server.oauth?.clientSecret && !server.oauth.issuer) {
      fault(
        '`client-secret` needs `issuer`; otherwise the server could choose who receives the secret',
        'oauth',
      )
    }
    if (server.oauth?.grant === 'client_credentials' && !server.oauth.clientSecret) {
      fault('the grant client_credentials needs `client-id` and `client-secret`', 'oauth')
    }
  })
  .transform(camelKeys)
