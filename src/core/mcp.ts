import { z } from 'zod'
import { camelKeys } from '../lib/camel.ts'
import { size, timerDuration } from './units.ts'

const names = z.array(z.string().min(1)).min(1)
const oauth = z
  .strictObject({
    'client-id': z.string().min(1).exactOptional().describe('Where the server registers no clients itself.'),
    'client-secret': z.string().min(1).exactOptional(),
    issuer: z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .exactOptional()
      .describe('The authorization server that these are of: no other gets them.'),
    scope: z.string().min(1).exactOptional(),
    grant: z
      .enum(['authorization_code', 'client_credentials'])
      .default('authorization_code')
      .describe('authorization_code: a person consents once, with `trivium mcp login`.'),
  })
  .transform(camelKeys)

const OF_COMMAND = ['args', 'env', 'cwd'] as const
const OF_URL = ['headers', 'oauth'] as const

/** One of `mcp:` in routes.yaml: another MCP server, whose tools are skills `<name>.<tool>`. Times in ms, sizes in bytes. */
export const mcpServerSchema = z
  .strictObject({
    enabled: z
      .union([z.boolean(), z.enum(['auto', 'true', 'false'])], { error: 'expected true, false or auto' })
      .default(true)
      .describe('auto: only when each variable that it names is set.'),
    command: z.string().min(1).exactOptional().describe('A program that speaks MCP on stdin and stdout.'),
    args: z.array(z.coerce.string()).exactOptional(),
    env: z
      .record(z.string(), z.coerce.string())
      .exactOptional()
      .describe('All that it gets of our environment beside HOME, PATH, USER, … is named here.'),
    cwd: z.string().min(1).exactOptional().describe('Relative to this file, where it starts by default.'),
    url: z.url({ protocol: /^https?$/, error: 'expected https://…' }).exactOptional(),
    headers: z.record(z.string().regex(/^[\w-]+$/), z.string()).exactOptional(),
    oauth: oauth.exactOptional(),
    'allow-private': z
      .boolean()
      .default(false)
      .describe('Whether a login may lead from a public address to private ones, or over http.'),
    tools: names.default(['*']).describe('The tools that become skills; globs may stand.'),
    timeout: timerDuration.default(60_000).describe('Of one call.'),
    'max-result': size.default(4 * 1024 ** 2).describe('The largest answer that is taken.'),
    approval: z
      .union([z.enum(['destructive', 'always', 'never']), names])
      .default('destructive')
      .describe(
        'Which tools run only once somebody approved: those that call themselves destructive, or these.',
      ),
    approvers: z.array(z.string()).default([]).describe('Who may approve, beside operators.'),
    access: names.exactOptional().describe('Who may use the tools; as `access` of a skill.'),
  })
  .superRefine((given, context) => {
    const fault = (message: string, ...path: string[]) =>
      context.addIssue({ code: 'custom', path, message, input: given })
    const { command, url } = given
    if ((command === undefined) === (url === undefined)) return fault('expected either `command` or `url`')
    for (const key of url === undefined ? OF_URL : OF_COMMAND) {
      if (given[key] === undefined) continue
      fault(`\`${key}\` goes with \`${url === undefined ? 'url' : 'command'}\``, key)
    }
    const { username, password } = new URL(url ?? 'http://none')
    if (username || password) {
      fault('no user and password in the URL, it is in logs; write them under `headers`', 'url')
    }
    if (given.oauth?.clientSecret && !given.oauth.issuer) {
      fault('`client-secret` needs `issuer`, or the server would say who gets it', 'oauth')
    }
    if (given.oauth?.grant === 'client_credentials' && !given.oauth.clientSecret) {
      fault('the grant client_credentials needs `client-id` and `client-secret`', 'oauth')
    }
  })
  .transform(camelKeys)

/** Another MCP server. `folder`: where its command starts. */
export type McpServer = Omit<z.output<typeof mcpServerSchema>, 'enabled'> & { name: string; folder: string }

/** Of a server: it is the first half of its skills' names. */
export const MCP_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** The server that a skill's name leads to; undefined for one of our own. */
export function mcpServerOf(skill: string): string | undefined {
  const [server, tool] = skill.split(/\.(.*)/s)
  return tool === undefined ? undefined : server
}

/** What is wrong with a tool that a server offers. `skipped`: it is no skill; else it is one, without what is wrong. */
export type McpFault = { tool: string; reason: string; skipped: boolean }

/** How a server is doing. `login`: it waits for a person. */
export type McpStatus = {
  name: string
  /** Its command or its address. */
  at: string
  ok: boolean
  state: 'up' | 'connecting' | 'down' | 'login'
  /** What is wrong, or what it is and how many skills it gives. */
  detail: string
  tools: number
  /** What is wrong with its tools; absent where nothing is. */
  faults?: McpFault[]
}
