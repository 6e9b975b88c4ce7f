import type { TransportDeps } from '../../../src/core/transport.ts'
import { type SlackApi, slackFailure } from '../api.ts'
import { createDirectory } from './directory.ts'
import { createThreads } from './threads.ts'

/** One installation of the app: the bot's identity, its API client, names, and threads. */
export type Workspace = {
  /** The id of the workspace, or of an organisation that installed the app as a whole. */
  team: string
  /**
   * The teams whose members are not external: the workspace itself; for an organisation, also its
   * workspaces that use the app.
   */
  teams: ReadonlySet<string>
  name: string
  botUser: string
  botId: string
  api: SlackApi
  directory: ReturnType<typeof createDirectory>
  threads: ReturnType<typeof createThreads>
  /** The person who installed the app by OAuth, and their user token. */
  installer?: { id: string; token: string | undefined }
  /** Whether Slack shows its own stop button, as it does for apps declared as agents. */
  isAgent?: boolean
}

/** The bot's identity in a workspace. `isOrg`: in an organisation that installed the app as a whole. */
export type Identity = Omit<Workspace, 'teams' | 'directory' | 'threads'> & { isOrg: boolean }

/** Asks Slack for the identity behind a token. Rejects with errors of the Web API. */
export async function identify(api: SlackApi): Promise<Identity> {
  const who = await api.auth.test()
  const { user_id: botUser = '', bot_id: botId = '', is_enterprise_install: isOrg = false } = who
  const team = (isOrg ? who.enterprise_id : undefined) ?? who.team_id ?? ''
  return { team, name: who.team ?? team, botUser, botId, api, isOrg }
}

/**
 * Completes an identity. For an organisation, asks Slack for its workspaces; rejects with errors of the
 * Web API.
 */
export async function openWorkspace(
  { isOrg, ...identity }: Identity,
  deps: TransportDeps,
): Promise<Workspace> {
  const { team, api } = identity
  const answer = isOrg ? await api.auth.teams.list().catch(ifTokenRejected) : undefined
  const { teams = [] } = answer ?? {}
  return {
    ...identity,
    teams: new Set([team, ...teams.flatMap(({ id = [] }) => id)]),
    directory: createDirectory(api, deps),
    threads: createThreads(deps, team),
  }
}

/**
 * For `catch`: without a valid token there are no workspaces, but the event about the end of the app
 * must still be handled.
 */
function ifTokenRejected(error: unknown): undefined {
  if (!slackFailure(error).isToken) throw error
}
