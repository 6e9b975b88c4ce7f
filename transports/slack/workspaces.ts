import { TriviumError } from '../../src/core/errors.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { createSlackApi, type SlackApi } from './api.ts'
import { createDirectory, type Directory } from './directory.ts'
import { slackFailure } from './failure.ts'
import type { SlackOptions } from './options.ts'

/** One installation of the app: who we are there, how to call Slack, and the names of its people. */
export type Workspace = {
  team: string
  name: string
  botUser: string
  botId: string
  token: string
  api: SlackApi
  directory: Directory
  /** The scopes of the token, where Slack told them. */
  scopes: string[]
}

export type Workspaces = {
  /**
   * Asks Slack once who each token is; rejects, and asks again at the next call, where it cannot. A token that Slack
   * refuses for good is left out where others work: a workspace that removed the app must not silence the others.
   */
  ready(): Promise<readonly Workspace[]>
  /** The workspace of a team id, once `ready` has resolved. */
  find(team: string): Workspace | undefined
  /** Whether a user's or bot's id is that of our bot in one of them: shared channels show us the others. */
  isOwnBot(id: string): boolean
  /** Why tokens were left out, or do not work any more. */
  faults(): readonly string[]
  /** The only workspace there is; undefined where there are several, or none yet. */
  only(): Workspace | undefined
  close(): void
}

/** Makes the workspaces of a gateway, one a bot token. Does no I/O before `ready`. */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps): Workspaces {
  const apis = options.botToken.map((token) => ({
    token,
    api: createSlackApi({
      token,
      apiUrl: withSlash(options.apiUrl),
      timeout: options['send-timeout'],
      log: deps.log,
      now: deps.now,
    }),
  }))
  const found = new Map<string, Workspace>()
  const bots = new Set<string>()
  let faults: string[] = []
  let asking: Promise<readonly Workspace[]> | undefined

  const identify = async ({ token, api }: { token: string; api: SlackApi }): Promise<Workspace> => {
    const who = await api.call('auth.test', (web) => web.auth.test())
    const workspace: Workspace = {
      team: who.team_id ?? '',
      name: who.team ?? who.team_id ?? '',
      botUser: who.user_id ?? '',
      botId: who.bot_id ?? '',
      token,
      api,
      directory: createDirectory({ api, limit: options['name-cache'], now: deps.now, log: deps.log }),
      scopes: who.response_metadata?.scopes ?? [],
    }
    found.set(workspace.team, workspace)
    for (const id of [workspace.botUser, workspace.botId]) if (id !== '') bots.add(id)
    return workspace
  }

  const identifyAll = async (): Promise<readonly Workspace[]> => {
    const answers = await Promise.allSettled(apis.map(identify))
    const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []))
    const [first] = errors.map(slackFailure)
    const isBearable = errors.length < apis.length && errors.every(isForGood)
    if (first && !isBearable) {
      const { reason } = first
      throw new TriviumError('send_failed', { gateway: deps.gateway, reason }, { cause: errors[0] })
    }
    faults = errors.map(
      (error) => `one of ${apis.length} bot tokens does not work: ${slackFailure(error).reason}`,
    )
    for (const fault of faults) deps.log.error({}, fault)
    return [...found.values()]
  }

  return {
    ready() {
      asking ??= identifyAll().catch((error: unknown) => {
        asking = undefined
        throw error
      })
      return asking
    },
    faults: () => [...faults, ...[...found.values()].flatMap(faultOf)],
    find: (team) => found.get(team),
    isOwnBot: (id) => bots.has(id),
    only: () => (apis.length === 1 ? found.values().next().value : undefined),
    close() {
      for (const { api } of apis) api.close()
    },
  }
}

function faultOf({ name, api }: Workspace): string[] {
  const fault = api.fault()
  return fault === undefined ? [] : [`the bot token of ${name} does not work: ${fault}`]
}

function isForGood(error: unknown): boolean {
  return slackFailure(error).kind === 'rejected'
}

export function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}
