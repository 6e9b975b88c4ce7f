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

/**
 * Makes the workspaces of a gateway: one per bot token, or one per OAuth installation. Does no I/O
 * before `ready`.
 */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, gateway } = deps
  const apis = (options['bot-token'] ?? []).map((token) => createSlackApi(token, options, deps))
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
     * Asks Slack once for the identity behind each token; rejects and retries later if that fails. A permanently
     * rejected token is skipped if others work, so that one removed app does not stop the others.
     */
    ready(): Promise<readonly Workspace[]> {
      asking ??= identifyAll().catch((error: unknown) => {
        asking = undefined
        throw error
      })
      return asking
    },
    /** Problems with tokens, and workspaces that send events but have no token. */
    faults(): readonly string[] {
      const faulty = [...found.values()].filter(({ api }) => api.fault() !== undefined)
      // It may have been removed on another daemon.
      for (const { team } of installed ? faulty : []) find(team).catch(() => {})
      const faults = faulty.map(({ name, api }) => `the bot token of ${name} does not work: ${api.fault()}`)
      return [...refused, ...faults, ...strangers.faults()]
    },
    /** The workspace of a team id, once `ready` has resolved. Rejects if the store is unavailable. */
    find,
    /** The only workspace; undefined if there are several, or none yet. */
    only,
    /** The workspace of a payload. Undefined without a token, which log, metrics and status report. */
    async of(payload: JsonObject): Promise<Workspace | undefined> {
      const ids = installationsOf(payload)
      for (const id of ids) {
        const workspace = await find(id)
        if (!workspace) continue
        strangers.forget(ids[0] ?? '')
        return workspace
      }
      if (ids.length === 0 && only()) return only()
      // The second event about the end of the same installation.
      const isEnd = installed && ENDING.test(textAt(payload, 'event.type') ?? '')
      if (!isEnd) strangers.refuse(ids[0] ?? 'that is not named', payload)
      return undefined
    },
    /** Whether an id belongs to our bot in any workspace, as shared channels show the others. */
    isOwnBot: (id: unknown) => bots.has(id),
  }
}

/** Why `ready` rejected. It does so with the error of a send, as sends wait for it. */
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
    // A modal may be submitted by someone of another workspace in a shared channel; then `team` is
    // theirs.
    textAt(payload, 'view.app_installed_team_id') ??
      textAt(payload, 'team_id') ??
      textAt(payload, 'team.id') ??
      textAt(payload, 'user.team_id'),
    ...[...authorized, payload].map((each) => textAt(each, 'enterprise_id') ?? textAt(each, 'enterprise.id')),
  ].filter((id) => id !== undefined)
}
