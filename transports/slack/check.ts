import type { Check, Health, TransportDeps } from '../../src/core/transport.ts'
import { createSlackApi, slackFailure } from './api.ts'
import { SCOPES, type SlackOptions } from './options.ts'
import type { Workspace } from './workspaces/workspace.ts'
import { type Workspaces, whyNotReady } from './workspaces/workspaces.ts'

/** Maximum number of installations that are checked. */
const MAX_INSTALLATIONS = 20

/** Scopes with which an app receives events. */
const EVENT_SCOPE = /^(app_mentions:read|commands|\w+:history)$/

/**
 * For `trivium doctor`: checks tokens and scopes with Slack, and whether events arrive. Without
 * `health` there is no running gateway, as in a check before the first start.
 */
export async function checkSlack(
  options: SlackOptions,
  workspaces: Workspaces,
  health: (() => Health) | undefined,
  deps: TransportDeps,
): Promise<Check[]> {
  const checks: Check[] = []
  const add = (name: string, ok: boolean, detail: string) => void checks.push({ name, ok, detail })

  const checkToken = async ({ api, team, botUser, name }: Workspace) => {
    try {
      const who = await api.auth.test()
      add(`Slack bot token of ${name}`, true, `${botUser} in ${name} (${team})`)
      const scopes = who.response_metadata?.scopes ?? []
      if (scopes.length === 0) return
      const missing = SCOPES.filter((scope) => !scopes.includes(scope)).join(', ')
      // Other scopes are optional, but a bot must receive events and be able to answer.
      const ok = scopes.includes('chat:write') && scopes.some((scope) => EVENT_SCOPE.test(scope))
      const advice = `missing ${missing}; add them under OAuth & Permissions (and to \`oauth\`), and install the app again`
      if (missing === '') add(`Slack scopes in ${name}`, ok, 'all that Trivium uses')
      else checks.push({ name: `Slack scopes in ${name}`, ok, detail: advice, warning: true })
    } catch (error) {
      const { isToken, reason } = slackFailure(error)
      // Rejected tokens are reported as faults of the workspaces.
      if (!isToken) add(`Slack bot token of ${name}`, false, reason)
    }
  }

  try {
    const ids = await workspaces.installs?.ids()
    if (ids) add('Slack installations', true, `${ids.length}; more at ${options.oauth?.path}/install`)
    const checked = ids
      ? await Promise.all(ids.slice(0, MAX_INSTALLATIONS).map(workspaces.find))
      : await workspaces.ready()
    for (const workspace of checked) if (workspace) await checkToken(workspace)
  } catch (error) {
    add('Slack bot token', false, whyNotReady(error))
  }
  for (const fault of workspaces.faults()) add('Slack bot token', false, fault)
  if (options.mode === 'socket') {
    try {
      await createSlackApi(options['app-token'], options, deps).apps.connections.open({})
      add('Slack app token', true, 'Slack provides sockets for it')
    } catch (error) {
      const advice = 'it needs the scope connections:write, and Socket Mode must be on'
      add('Slack app token', false, `${slackFailure(error).reason}; ${advice}`)
    }
  }
  if (health) {
    const { ok, detail } = health()
    const state = ok ? 'connected' : 'not connected'
    add(options.mode === 'socket' ? 'Slack socket' : 'Slack requests', ok, detail ?? state)
  }
  return checks
}
