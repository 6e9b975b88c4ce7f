import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
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

/** Workspaces of an organisation per page: the maximum of `auth.teams.list`. */
const PAGE_SIZE = 1_000

/** The bot's identity in a workspace. `isOrg`: an organisation installed the app as a whole. */
export type Identity = Omit<Workspace, 'teams' | 'directory' | 'threads'> & { isOrg: boolean }

/** Asks Slack for the identity behind a token. Rejects with errors of the Web API. */
export async function identify(api: SlackApi): Promise<Identity> {
  const who = await api.auth.test()
  const { user_id: botUser = '', bot_id: botId = '', is_enterprise_install: isOrg = false } = who
  const team = (isOrg ? who.enterprise_id : undefined) ?? who.team_id ?? ''
  return { team, name: who.team ?? team, botUser, botId, api, isOrg }
}

/**
 * Completes an identity. For an organisation, asks Slack for its workspaces; rejects with errors of
 * the Web API.
 */
export async function openWorkspace(
  { isOrg, ...identity }: Identity,
  deps: TransportDeps,
): Promise<Workspace> {
  const { team, api } = identity
  const teams = isOrg ? await teamsOf(api).catch(noneIfTokenRejected) : []
  return {
    ...identity,
    teams: new Set([team, ...teams]),
    directory: createDirectory(api, deps),
    threads: createThreads(deps, team),
  }
}

/**
 * The ids of the workspaces of an organisation that use the app, from all pages of Slack's list.
 */
async function teamsOf(api: SlackApi): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await api.auth.teams.list({ limit: PAGE_SIZE, ...defined({ cursor }) })
    ids.push(...(page.teams ?? []).flatMap(({ id }) => id ?? []))
    cursor = page.response_metadata?.next_cursor || undefined
  } while (cursor !== undefined)
  return ids
}

/**
 * For `catch`: an empty list if Slack rejects the token. It does so after the app was uninstalled,
 * but the event of that comes later, and the workspace is opened to handle it.
 */
function noneIfTokenRejected(error: unknown): string[] {
  if (slackFailure(error).isToken) return []
  throw error
}
