import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { type JsonObject, objectsAt, textAt } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { createSlackApi, slackFailure } from '../api.ts'
import { END_EVENTS } from '../installs/installs.ts'
import type { SlackOptions } from '../options.ts'
import { createInstalled } from './installed.ts'
import { createUnknownWorkspaces } from './unknown-workspaces.ts'
import { type Identity, identify, openWorkspace, type Workspace } from './workspace.ts'

export type Workspaces = ReturnType<typeof createWorkspaces>

/**
 * The workspaces of a gateway: one per bot token, or one per OAuth installation. Does no I/O before
 * `ready`.
 */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, gateway } = deps
  const apis = (options['bot-token'] ?? []).map((token) => createSlackApi(token, options, deps))
  /** The identified workspaces, by id. */
  const open = new Map<string, Workspace>()
  const botIds = new Set<unknown>()
  let refusedTokens: string[] = []
  let identifying: Promise<readonly Workspace[]> | undefined

  const add = async (who: Identity): Promise<Workspace> => {
    const workspace = await openWorkspace(who, deps)
    open.set(workspace.team, workspace)
    for (const id of [who.botUser, who.botId]) if (id !== '') botIds.add(id)
    return workspace
  }
  const installed = options.oauth && createInstalled(options.oauth, options, deps, open, add)
  const unknown = createUnknownWorkspaces(deps, { isInstalled: installed !== undefined })

  const identifyAll = async (): Promise<readonly Workspace[]> => {
    const results = await Promise.allSettled(apis.map(async (api) => add(await identify(api))))
    const failures = results.flatMap((each) => (each.status === 'rejected' ? slackFailure(each.reason) : []))
    // Permanently rejected tokens are skipped, unless all tokens are rejected.
    const isFatal = ({ kind }: { kind: string }) => failures.length === apis.length || kind !== 'rejected'
    const fatal = failures.find(isFatal)
    if (fatal) throw identityError(gateway, fatal)
    refusedTokens = failures.map(({ reason }) => `one of ${apis.length} bot tokens does not work: ${reason}`)
    for (const fault of refusedTokens) log.error({}, fault)
    return [...open.values()]
  }

  const find = async (id: string): Promise<Workspace | undefined> =>
    installed ? installed.find(id) : open.get(id)
  const only = (): Workspace | undefined => (apis.length === 1 ? open.values().next().value : undefined)

  return {
    installs: installed?.installs,
    /**
     * Asks Slack once for the identity behind each token. If that fails, rejects; the next call
     * asks again. Skips permanently rejected tokens if others work.
     */
    ready(): Promise<readonly Workspace[]> {
      identifying ??= identifyAll().catch((error: unknown) => {
        identifying = undefined
        throw error
      })
      return identifying
    },
    /** Problems with tokens, and workspaces that send events but have no token. */
    faults(): readonly string[] {
      const faulty = [...open.values()].filter(({ api }) => api.tokenFault() !== undefined)
      // An installation may have been removed on another daemon; the lookup then forgets it.
      for (const { team } of installed ? faulty : []) find(team).catch(() => {})
      const faults = faulty.map(
        ({ name, api }) => `the bot token of ${name} does not work: ${api.tokenFault()}`,
      )
      return [...refusedTokens, ...faults, ...unknown.faults()]
    },
    /** The workspace of a team id, after `ready` resolved. Rejects if the store is unavailable. */
    find,
    /** The only workspace; undefined if there are several, or none yet. */
    only,
    /** The workspace of a payload. Undefined, and reported as a refusal, if it has no token. */
    async of(payload: JsonObject): Promise<Workspace | undefined> {
      const ids = installationsOf(payload)
      for (const id of ids) {
        const workspace = await find(id)
        if (!workspace) continue
        unknown.forget(ids[0] ?? '')
        return workspace
      }
      if (ids.length === 0 && only()) return only()
      // Slack sends two events about the end of an installation. The second one is no refusal.
      const isEnd = installed && END_EVENTS.test(textAt(payload, 'event.type') ?? '')
      if (!isEnd) unknown.refuse(ids[0] ?? 'that is not named', payload)
      return undefined
    },
    /** Whether our bot has this id in any workspace. A shared channel has the bots of several. */
    isOwnBot: (id: unknown) => botIds.has(id),
  }
}

function identityError(
  gateway: string,
  { isToken, reason }: { isToken: boolean; reason: string },
): TriviumError {
  const what = isToken ? 'Slack refuses the bot token' : 'Slack does not say who the bot is'
  const cause = new Error(`${what}: ${reason}`)
  return new TriviumError('send_failed', { gateway, reason: cause.message }, { cause })
}

/**
 * Why `ready` rejected. It rejects with a `send_failed`, because sends wait for it; only the cause
 * has the plain reason.
 */
export function whyNotReady(error: unknown): string {
  return reasonOf(error instanceof TriviumError ? (error.cause ?? error) : error)
}

/**
 * The installations that a payload may belong to, most likely first: team ids, and the id of an
 * organisation that installed the app as a whole (https://docs.slack.dev/enterprise).
 */
function installationsOf(payload: JsonObject): string[] {
  const authorized = objectsAt(payload, 'authorizations')
  return [
    ...authorized.map((each) => textAt(each, 'team_id')),
    // Someone of another workspace may submit a modal in a shared channel. Then `team` is theirs.
    textAt(payload, 'view.app_installed_team_id') ??
      textAt(payload, 'team_id') ??
      textAt(payload, 'team.id') ??
      textAt(payload, 'user.team_id'),
    ...[...authorized, payload].map((each) => textAt(each, 'enterprise_id') ?? textAt(each, 'enterprise.id')),
  ].filter((id) => id !== undefined)
}
