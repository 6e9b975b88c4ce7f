import { reasonOf } from '../../src/core/errors.ts'
import type { Log } from '../../src/core/log.ts'
import type { Check, Health } from '../../src/core/transport.ts'
import { createAppClient } from './app-client.ts'
import { slackFailure } from './failure.ts'
import type { SlackOptions, SocketOptions } from './options.ts'
import { type Workspaces, withSlash } from './workspaces.ts'

/** What the bot needs for what; `ops/slack-manifest.yaml` asks for all of them. */
const SCOPES: Record<string, string> = {
  'chat:write': 'replies',
  'app_mentions:read': 'mentions',
  'channels:history': 'messages in public channels, and what was missed there',
  'im:history': 'direct messages',
  'users:read': 'names of people',
  'channels:read': 'names of channels',
  'reactions:write': 'progress reactions',
  'files:read': 'files that people send',
  'files:write': 'files in replies',
}

/** For `trivium doctor`: the tokens, their scopes, and whether Slack's events reach us. */
export async function checkSlack(
  options: SlackOptions,
  workspaces: Workspaces,
  health: () => Health,
  log: Log,
): Promise<Check[]> {
  const checks = await checkTokens(workspaces)
  if (options.mode === 'socket') checks.push(await checkAppToken(options, log))
  const { ok, detail } = health()
  const name = options.mode === 'socket' ? 'Slack socket' : 'Slack requests'
  return [...checks, { name, ok, detail: detail ?? (ok ? 'connected' : 'not connected') }]
}

async function checkTokens(workspaces: Workspaces): Promise<Check[]> {
  try {
    const found = await workspaces.ready()
    const working = found.flatMap(({ name, team, botUser, scopes }) => [
      { name: `Slack bot token of ${name}`, ok: true, detail: `${botUser} in ${name} (${team})` },
      ...checkScopes(name, scopes),
    ])
    const refused = workspaces.faults().map((detail) => ({ name: 'Slack bot token', ok: false, detail }))
    return [...working, ...refused]
  } catch (error) {
    return [{ name: 'Slack bot token', ok: false, detail: reasonOf(error) }]
  }
}

function checkScopes(workspace: string, scopes: readonly string[]): Check[] {
  if (scopes.length === 0) return []
  const missing = Object.entries(SCOPES).filter(([scope]) => !scopes.includes(scope))
  const detail = missing.map(([scope, what]) => `${scope} (${what})`).join(', ')
  const name = `Slack scopes in ${workspace}`
  if (missing.length === 0) return [{ name, ok: true, detail: 'all that Trivium uses' }]
  const advice = `missing ${detail}; add them under OAuth & Permissions and install the app again`
  // Without some of them a bot may well do what is wanted of it; without this one it cannot answer.
  return [{ name, ok: scopes.includes('chat:write'), detail: advice }]
}

async function checkAppToken(options: SocketOptions, log: Log): Promise<Check> {
  const name = 'Slack app token'
  const { appToken, 'send-timeout': timeout } = options
  const web = createAppClient({ appToken, apiUrl: withSlash(options.apiUrl), timeout, log })
  try {
    await web.apps.connections.open({})
    return { name, ok: true, detail: 'Slack gives out sockets for it' }
  } catch (error) {
    const advice = 'it needs the scope connections:write, and Socket Mode must be on'
    return { name, ok: false, detail: `${slackFailure(error).reason}; ${advice}` }
  }
}
