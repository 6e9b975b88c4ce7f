import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, objectsAt, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { createSlackApi, slackFailure } from '../api.ts'
import { ENDING } from '../installs/installs.ts'
import type { SlackOptions } from '../options.ts'
import { createInstalled } from './installed.ts'
import { createStrangers } from './strangers.ts'
import { type Identity, identify, openWorkspace, type Workspace } from './workspace.ts'

export type Workspaces = ReturnType<typeof createWorkspaces>

/** Makes the workspaces of a gateway: one a bot token, or one an installation by OAuth. Does no I/O before `ready`. */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, gateway } = deps
  const apis = (options.botToken ?? []).map((token) => createSlackApi(token, options, deps))
  const found = new Map<string, Workspace>()
  const bots = new Set<unknown>()
  let refused: string[] = []
  let asking: Promise<readonly Workspace[]> | undefined

  const add = async (who: Identity): Promise<Workspace> => {
    const workspace = await openWorkspace(who, deps)
    found.set(workspace.team, workspace)
    for (const id of [who.botUser, who.botId]) if (id !== '') bots.add(id)
    return workspace
  }
  const installed = options.oauth && createInstalled(options.oauth, options, deps, found, add)
  const strangers = createStrangers(deps, { isInstalled: installed !== undefined })

  const identifyAll = async (): Promise<readonly Workspace[]> => {
    const answers = await Promise.allSettled(apis.map(async (api) => add(await identify(api))))
    const failures = answers.flatMap((each) => (each.status === 'rejected' ? slackFailure(each.reason) : []))
    const worst = failures.find(({ kind }) => failures.length === apis.length || kind !== 'rejected')
    if (worst) {
      const what = worst.isToken ? 'Slack refuses the bot token' : 'Slack does not say who the bot is'
      const reason = `${what}: ${worst.reason}`
      throw new TriviumError('send_failed', { gateway, reason }, { cause: new Error(reason) })
    }
    refused = failures.map(({ reason }) => `one of ${apis.length} bot tokens does not work: ${reason}`)
    for (const fault of refused) log.error({}, fault)
    return [...found.values()]
  }

  const find = async (id: string): Promise<Workspace | undefined> =>
    installed ? installed.find(id) : found.get(id)
  const only = (): Workspace | undefined => (apis.length === 1 ? found.values().next().value : undefined)

  return {
    installs: installed?.installs,
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
    /** What is wrong with tokens, and which workspaces have none though Slack tells of them. */
    faults(): readonly string[] {
      const faulty = [...found.values()].filter(({ api }) => api.fault() !== undefined)
      // Somebody may have removed it on another daemon.
      for (const { team } of installed ? faulty : []) find(team).catch(() => {})
      const faults = faulty.map(({ name, api }) => `the bot token of ${name} does not work: ${api.fault()}`)
      return [...refused, ...faults, ...strangers.faults()]
    },
    /** The workspace of a team id, once `ready` has resolved; rejects where the store is away that knows it. */
    find,
    /** The only workspace there is; undefined where there are several, or none yet. */
    only,
    /** Whose payload it is. Undefined: there is no bot token for it, which log, metrics and status tell. */
    async of(payload: JsonObject): Promise<Workspace | undefined> {
      const ids = installationsOf(payload)
      for (const id of ids) {
        const workspace = await find(id)
        if (!workspace) continue
        strangers.forget(ids[0] ?? '')
        return workspace
      }
      if (ids.length === 0 && only()) return only()
      // The second word of what the first has ended.
      const isEnd = installed && ENDING.test(textAt(payload, 'event.type') ?? '')
      if (!isEnd) strangers.refuse(ids[0] ?? 'that is not named', payload)
      return undefined
    },
    /** Whether a user's or bot's id is that of our bot in one of them: shared channels show us the others. */
    isOwnBot: (id: unknown) => bots.has(id),
  }
}

/** Why `ready` rejected. It does so with the error of a send, as sends wait for it. */
export function whyNotReady(error: unknown): string {
  return reasonOf(error instanceof TriviumError ? (error.cause ?? error) : error)
}

/**
 * The installations that a payload may be for, the likeliest first: team ids, and the id of an organisation that has the
 * app as a whole (https://docs.slack.dev/enterprise).
 */
function installationsOf(payload: JsonObject): string[] {
  const authorized = objectsAt(payload, 'authorizations')
  return [
    ...authorized.map((each) => textAt(each, 'team_id')),
    // A modal may be sent by somebody of another workspace that shares the channel; `team` is theirs then.
    textAt(payload, 'view.app_installed_team_id') ??
      textAt(payload, 'team_id') ??
      textAt(payload, 'team.id') ??
      textAt(payload, 'user.team_id'),
    ...[...authorized, payload].map((each) => textAt(each, 'enterprise_id') ?? textAt(each, 'enterprise.id')),
  ].filter((id) => id !== undefined)
}
