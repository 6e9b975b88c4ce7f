import { reasonOf } from '../../src/core/errors.ts'
import type { Log } from '../../src/core/log.ts'
import type { Check, Health } from '../../src/core/transport.ts'
import { createWebClient } from './api.ts'
import { slackFailure, tokenFault } from './failure.ts'
import type { SlackOptions, SocketOptions } from './options.ts'
import type { Workspace, Workspaces } from './workspaces.ts'

/** What the bot needs for what; `ops/slack-manifest.yaml` asks for all of them. */
const SCOPES: Record<string, string> = {
  'chat:write': 'replies',
  'app_mentions:read': 'mentions',
  'channels:history': 'messages in public channels, and what was missed there',
  'groups:history': 'messages in private channels, and what was missed there',
  'im:history': 'direct messages',
  'mpim:history': 'direct messages among several',
  'users:read': 'names of people',
  'channels:read': 'names of channels',
  'groups:read': 'names of private channels',
  'im:read': 'who a direct message is with',
  'mpim:read': 'who is among several',
  'im:write': 'direct messages that the bot begins',
  commands: 'slash commands and shortcuts',
  'reactions:read': 'reactions as events',
  'reactions:write': 'progress reactions',
  'files:read': 'files that people send',
  'files:write': 'files in replies',
}

/** By one of these an app hears something. */
const HEARING = /^(app_mentions:read|commands|\w+:history)$/

/**
 * For `trivium doctor`: the tokens and their scopes, asked for anew, and whether Slack's events reach us. Without
 * `health`, nothing listens here: a doctor that looks before there is a daemon.
 */
export async function checkSlack(
  options: SlackOptions,
  workspaces: Workspaces,
  health: (() => Health) | undefined,
  log: Log,
): Promise<Check[]> {
  const checks = await checkTokens(options, workspaces)
  if (options.mode === 'socket') checks.push(await checkAppToken(options, log))
  if (!health) return checks
  const { ok, detail = ok ? 'connected' : 'not connected' } = health()
  return [...checks, { name: options.mode === 'socket' ? 'Slack socket' : 'Slack requests', ok, detail }]
}

async function checkTokens(options: SlackOptions, workspaces: Workspaces): Promise<Check[]> {
  try {
    const found = await workspaces.ready()
    const working = await Promise.all(found.map((each) => checkToken(options, each)))
    const refused = workspaces.faults().map((detail) => ({ name: 'Slack bot token', ok: false, detail }))
    return [...working.flat(), ...refused]
  } catch (error) {
    return [{ name: 'Slack bot token', ok: false, detail: reasonOf(error) }]
  }
}

/** Of a token that Slack does not accept any more the faults of the workspaces tell. */
async function checkToken(options: SlackOptions, workspace: Workspace): Promise<Check[]> {
  const { api, team, botUser } = workspace
  const name = `Slack bot token of ${workspace.name}`
  try {
    const who = await api.call('auth.test', (web) => web.auth.test())
    const scopes = who.response_metadata?.scopes ?? []
    const detail = `${botUser} in ${workspace.name} (${team})`
    return [{ name, ok: true, detail }, ...checkScopes(options, workspace.name, scopes)]
  } catch (error) {
    return tokenFault(error) === undefined ? [{ name, ok: false, detail: slackFailure(error).reason }] : []
  }
}

function checkScopes(options: SlackOptions, workspace: string, scopes: readonly string[]): Check[] {
  if (scopes.length === 0) return []
  const unused = new Set([
    ...(options.progress === 'off' ? ['reactions:write'] : []),
    ...(options['max-files'] === 0 ? ['files:read'] : []),
  ])
  const missing = Object.entries(SCOPES).filter(([scope]) => !scopes.includes(scope) && !unused.has(scope))
  const detail = missing.map(([scope, what]) => `${scope} (${what})`).join(', ')
  const name = `Slack scopes in ${workspace}`
  if (missing.length === 0) return [{ name, ok: true, detail: 'all that Trivium uses' }]
  const advice = `missing ${detail}; add them under OAuth & Permissions and install the app again`
  // Without some of them a bot may well do what is wanted of it; but it has to hear something, and to answer.
  const ok = scopes.includes('chat:write') && scopes.some((scope) => HEARING.test(scope))
  return [{ name, ok, detail: advice }]
}

async function checkAppToken(options: SocketOptions, log: Log): Promise<Check> {
  const name = 'Slack app token'
  const { appToken, 'send-timeout': timeout } = options
  const web = createWebClient({ token: appToken, apiUrl: options.apiUrl, timeout, log })
  try {
    await web.apps.connections.open({})
    return { name, ok: true, detail: 'Slack gives out sockets for it' }
  } catch (error) {
    const advice = 'it needs the scope connections:write, and Socket Mode must be on'
    return { name, ok: false, detail: `${slackFailure(error).reason}; ${advice}` }
  }
}
