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
  token: string
  api: SlackApi
  directory: Directory
}

export type Workspaces = ReturnType<typeof createWorkspaces>

/** Makes the workspaces of a gateway, one a bot token. Does no I/O before `ready`. */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, now, gateway } = deps
  const apis = options.botToken.map((token) => {
    return { token, api: createSlackApi({ token, apiUrl: options.apiUrl, log, now }) }
  })
  const found = new Map<string, Workspace>()
  const bots = new Set<unknown>()
  let refused: string[] = []
  let asking: Promise<readonly Workspace[]> | undefined

  const identify = async ({ token, api }: { token: string; api: SlackApi }): Promise<void> => {
    const who = await api.call('auth.test', (web) => web.auth.test())
    const { team_id: team = '', user_id: botUser = '', bot_id: botId = '' } = who
    const directory = createDirectory({ api, now, log })
    found.set(team, { team, name: who.team ?? team, botUser, token, api, directory })
    for (const id of [botUser, botId]) if (id !== '') bots.add(id)
  }

  const identifyAll = async (): Promise<readonly Workspace[]> => {
    const answers = await Promise.allSettled(apis.map(identify))
    const failures = answers.flatMap((answer) =>
      answer.status === 'rejected' ? slackFailure(answer.reason) : [],
    )
    const [worst] =
      failures.length < apis.length ? failures.filter(({ kind }) => kind !== 'rejected') : failures
    if (worst) throw new TriviumError('send_failed', { gateway, reason: worst.reason })
    refused = failures.map(({ reason }) => `one of ${apis.length} bot tokens does not work: ${reason}`)
    for (const fault of refused) log.error({}, fault)
    return [...found.values()]
  }

  return {
    /**
     * Asks Slack once who each token is; rejects, and asks again at the next call, where it cannot. A token that Slack
     * refuses for good is left out where others work: a workspace that removed the app must not silence the others.
     */
    ready(): Promise<readonly Workspace[]> {
      asking ??= identifyAll().catch((error: unknown) => {
        asking = undefined
        throw error
      })
      return asking
    },
    /** Why tokens were left out, or do not work any more. */
    faults(): readonly string[] {
      const faulty = [...found.values()].filter(({ api }) => api.fault() !== undefined)
      const faults = faulty.map(({ name, api }) => `the bot token of ${name} does not work: ${api.fault()}`)
      return [...refused, ...faults]
    },
    /** The workspace of a team id, once `ready` has resolved. */
    find: (team: string) => found.get(team),
    /** Whether a user's or bot's id is that of our bot in one of them: shared channels show us the others. */
    isOwnBot: (id: unknown) => bots.has(id),
    /** The only workspace there is; undefined where there are several, or none yet. */
    only: (): Workspace | undefined => (apis.length === 1 ? found.values().next().value : undefined),
    close(): void {
      for (const { api } of apis) api.close()
    },
  }
}
