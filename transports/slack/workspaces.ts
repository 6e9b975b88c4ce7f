import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { type Json, type JsonObject, objectsAt, textAt } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { putLast } from '../../src/lib/put-last.ts'
import { createSlackApi, type SlackApi, slackFailure } from './api.ts'
import { createInstalls, ENDING, placeOf } from './installs.ts'
import type { SlackOptions } from './options.ts'

/** One installation of the app: who we are there, how to call Slack, the names of its people, and our threads. */
export type Workspace = {
  /** The id of the workspace; of an organisation that has the app as a whole, its id. */
  team: string
  /** Whose people are no strangers: itself; of an organisation also the workspaces that use the app. */
  teams: ReadonlySet<string>
  name: string
  botUser: string
  botId: string
  api: SlackApi
  directory: ReturnType<typeof createDirectory>
  threads: ReturnType<typeof createThreads>
  /** Who installed the app by OAuth, and the token to act as them. */
  installer?: { id: string; token: string | undefined }
  /** Slack shows a stop button of its own while we work, as the app is declared an agent there. */
  isAgent?: boolean
}

export type Workspaces = ReturnType<typeof createWorkspaces>

/** For so long a workspace without a token is told of after one of its events (ms), and then logged again. */
const STRANGE = 3_600_000

/** For so long the bot is in a thread after it last spoke or was called there (ms). */
const THREAD_KEPT = 90 * 86_400_000

/** For so long an installation counts that was looked up (ms): then it may have been removed on another daemon. */
const FRESH = 3000

/** Makes the workspaces of a gateway: one a bot token, or one an installation by OAuth. Does no I/O before `ready`. */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, now, gateway } = deps
  const apis = (options.botToken ?? []).map((token) => createSlackApi(token, options, deps))
  /** Installations that were looked up, or are, and until when each counts (Unix ms). */
  const looked = new Map<string, { until: number; workspace: Promise<Workspace | undefined> }>()
  const found = new Map<string, Workspace>()
  const bots = new Set<unknown>()
  /** When an event of a workspace without a token was logged last (Unix ms). */
  const strangers = new Map<string, number>()
  const forget = (id: string) => {
    looked.delete(id)
    found.delete(id)
  }
  const installs = options.oauth && createInstalls(options.oauth, options, deps, forget)
  let refused: string[] = []
  let asking: Promise<readonly Workspace[]> | undefined

  const identify = async (api: SlackApi): Promise<void> => {
    const who = await api.auth.test()
    const { user_id: botUser = '', bot_id: botId = '', is_enterprise_install: isOrg = false } = who
    const team = (isOrg ? who.enterprise_id : undefined) ?? who.team_id ?? ''
    await add({ team, name: who.team ?? team, botUser, botId, api }, isOrg)
  }

  const add = async (known: Omit<Workspace, 'teams' | 'directory' | 'threads'>, isOrg: boolean) => {
    const { team, api, botUser, botId } = known
    // Where the app is over, its end is still to be heard.
    const asked = isOrg && (await api.auth.teams.list().catch(unlessOver))
    const { teams = [] } = asked || {}
    const workspace: Workspace = {
      ...known,
      teams: new Set([team, ...teams.flatMap(({ id = [] }) => id)]),
      directory: createDirectory(api, deps),
      threads: createThreads(deps, team),
    }
    found.set(team, workspace)
    for (const id of [botUser, botId]) if (id !== '') bots.add(id)
    return workspace
  }

  const lookUp = async (id: string): Promise<Workspace | undefined> => {
    const installation = await installs?.find(id)
    if (!installation) return void forget(id)
    const { bot, user: installer, isEnterpriseInstall = false } = installation
    const known = found.get(id)
    if (known?.api.token === bot.token) return Object.assign(known, { installer })
    const name = placeOf(installation)?.name ?? id
    const who = { team: id, name, botUser: bot.userId, botId: bot.id, installer }
    return add({ ...who, api: createSlackApi(bot.token, options, deps) }, isEnterpriseInstall)
  }

  const identifyAll = async (): Promise<readonly Workspace[]> => {
    const answers = await Promise.allSettled(apis.map(identify))
    const failures = answers.flatMap((each) => (each.status === 'rejected' ? slackFailure(each.reason) : []))
    const worst = failures.find(({ kind }) => failures.length === apis.length || kind !== 'rejected')
    if (worst) throw new TriviumError('send_failed', { gateway, reason: worst.reason })
    refused = failures.map(({ reason }) => `one of ${apis.length} bot tokens does not work: ${reason}`)
    for (const fault of refused) log.error({}, fault)
    return [...found.values()]
  }

  const find = async (id: string): Promise<Workspace | undefined> => {
    if (!installs) return found.get(id)
    const known = looked.get(id)
    if (known && known.until > now()) return known.workspace
    const workspace = lookUp(id)
    putLast(looked, id, { until: now() + FRESH, workspace }, LIMIT)
    workspace.catch(() => looked.delete(id))
    return workspace
  }
  /** The only workspace there is; undefined where there are several, or none yet. */
  const only = (): Workspace | undefined => (apis.length === 1 ? found.values().next().value : undefined)

  const none = installs
    ? 'nobody installed the app there'
    : 'no bot token here is for it; add one to botToken'
  const whyRefused = (team: string) =>
    `events of the workspace ${team} are refused: ${none}, or remove the app there`

  return {
    installs,
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
      for (const { team } of installs ? faulty : []) find(team).catch(() => {})
      const faults = faulty.map(({ name, api }) => `the bot token of ${name} does not work: ${api.fault()}`)
      const strange = [...strangers]
        .filter(([, at]) => at > now() - STRANGE)
        .map(([team]) => whyRefused(team))
      return [...refused, ...faults, ...strange]
    },
    /** The workspace of a team id, once `ready` has resolved; rejects where the store is away that knows it. */
    find,
    only,
    /** Whose payload it is. Undefined: there is no bot token for it, which log, metrics and status tell. */
    async of(payload: JsonObject): Promise<Workspace | undefined> {
      const ids = installationsOf(payload)
      for (const id of ids) {
        const workspace = await find(id)
        if (!workspace) continue
        strangers.delete(ids[0] ?? '')
        return workspace
      }
      if (ids.length === 0 && only()) return only()
      // The second word of what the first has ended.
      if (installs && ENDING.test(textAt(payload, 'event.type') ?? '')) return undefined
      const [team = 'that is not named'] = ids
      deps.refused('unknown_team', { from: team, why: whyRefused(team), body: JSON.stringify(payload) })
      if ((strangers.get(team) ?? 0) > now() - STRANGE) return undefined
      strangers.set(team, now())
      log.warn({ team }, whyRefused(team))
      return undefined
    },
    /** Whether a user's or bot's id is that of our bot in one of them: shared channels show us the others. */
    isOwnBot: (id: unknown) => bots.has(id),
  }
}

function unlessOver(error: unknown): undefined {
  if (!slackFailure(error).isToken) throw error
}

/** The threads that the bot is in, for `match: { thread: mine }`: on the store, as another daemon may have spoken there. */
function createThreads({ kv, gateway, log }: TransportDeps, team: string) {
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /** Never rejects: an answer that was sent counts as sent. */
    async join(channel: string, thread: string | undefined): Promise<void> {
      const failed = (error: unknown) =>
        log.debug({ channel, thread, reason: reasonOf(error) }, 'that the bot is there could not be kept')
      if (thread !== undefined)
        await kv.set(nameOf(channel, thread), true, { ttl: THREAD_KEPT }).catch(failed)
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      (await kv.get(nameOf(channel, thread))) !== undefined,
    /** What who writes there looks at: as is `told`, which is kept, or was before. */
    async context(channel: string, thread: string, told: Json | undefined): Promise<Json | undefined> {
      const name = `${nameOf(channel, thread)}/context`
      if (told === undefined) return (await kv.get(name))?.value
      await kv.set(name, told, { ttl: THREAD_KEPT })
      return told
    },
  }
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

/**
 * `name` until `until`, empty where Slack has none for us. `asked` ends after the pause that follows a failure: so many who
 * wait ask once.
 */
type Entry = { name?: string; until: number; asked?: Promise<void> }

const LIMIT = 5000
/** How long is known what Slack told, and that it refused to: the bot may be invited to the channel, or get the scope. */
const KNOWN_FOR = 600_000
const REFUSED_FOR = 60_000
const RETRY = 700

/**
 * Names for ids, of which the last used are remembered. Nothing here throws. What Slack cannot tell at the moment (a
 * rate limit, trouble, no answer) is asked for again for `patience` ms, and is undefined then. What it will not tell (a
 * missing scope, an unknown id) has an empty name. An old name is given while a new one is asked for.
 */
function createDirectory(api: SlackApi, { now, log }: TransportDeps) {
  const entries = new Map<string, Entry>()

  const lookUp = async (id: string, patience: number, ask: () => Promise<string | undefined>) => {
    const entry = entries.get(id) ?? { until: 0 }
    putLast(entries, id, entry, LIMIT)
    for (let late: AbortSignal | undefined; entry.until <= now() && !late?.aborted; ) {
      entry.asked ??= askOnce(entry, ask)
      if (entry.name) break
      late ??= AbortSignal.timeout(patience)
      await inTime(entry.asked, late)
    }
    return entry.name
  }

  const askOnce = async (entry: Entry, ask: () => Promise<string | undefined>): Promise<void> => {
    try {
      Object.assign(entry, { name: (await ask()) ?? '', until: now() + KNOWN_FOR })
    } catch (error) {
      const { kind, reason } = slackFailure(error)
      log.debug({ reason }, 'a name could not be looked up')
      if (kind === 'rejected') Object.assign(entry, { name: '', until: now() + REFUSED_FOR })
      else await pause(RETRY)
    }
    delete entry.asked
  }

  return {
    /** Of a channel, a user or a user group, as their ids say. */
    nameOf: (id: string, patience: number) =>
      lookUp(id, patience, async () => {
        if (id.startsWith('S')) {
          const { usergroups = [] } = await api.usergroups.list({ include_disabled: true })
          return usergroups.find((group) => group.id === id)?.handle
        }
        if (/^[CGD]/.test(id)) return (await api.conversations.info({ channel: id })).channel?.name
        const { profile, real_name, name } = (await api.users.info({ user: id })).user ?? {}
        return profile?.display_name || profile?.real_name || real_name || name
      }),
    /** The thread that a message is part of; empty where it is in none. */
    threadOf: (channel: string, ts: string, patience: number) =>
      lookUp(`${channel}/${ts}`, patience, async () => {
        const { messages } = await api.conversations.replies({ channel, ts, limit: 1 })
        return messages?.[0]?.thread_ts
      }),
  }
}
