import { reasonOf, TriviumError } from '../../src/core/errors.ts'
import { type JsonObject, objectsAt, textAt } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { inTime, pause } from '../../src/lib/pause.ts'
import { putLast } from '../../src/lib/put-last.ts'
import { createSlackApi, type SlackApi, slackFailure } from './api.ts'
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
}

export type Workspaces = ReturnType<typeof createWorkspaces>

/** For so long a workspace without a token is told of after one of its events (ms), and then logged again. */
const STRANGE = 3_600_000

/** For so long the bot is in a thread after it last spoke or was called there (ms). */
const THREAD_KEPT = 90 * 86_400_000

/** Makes the workspaces of a gateway, one a bot token. Does no I/O before `ready`. */
export function createWorkspaces(options: SlackOptions, deps: TransportDeps) {
  const { log, now, gateway } = deps
  const apis = options.botToken.map((token) => createSlackApi(token, options, deps))
  const found = new Map<string, Workspace>()
  const bots = new Set<unknown>()
  /** When an event of a workspace without a token was logged last (Unix ms). */
  const strangers = new Map<string, number>()
  let refused: string[] = []
  let asking: Promise<readonly Workspace[]> | undefined

  const identify = async (api: SlackApi): Promise<void> => {
    const who = await api.auth.test()
    const { user_id: botUser = '', bot_id: botId = '', is_enterprise_install: isOrg = false } = who
    const team = (isOrg ? who.enterprise_id : undefined) ?? who.team_id ?? ''
    const { teams = [] } = isOrg ? await api.auth.teams.list() : {}
    found.set(team, {
      ...{ team, name: who.team ?? team, botUser, botId, api },
      teams: new Set([team, ...teams.flatMap(({ id = [] }) => id)]),
      directory: createDirectory(api, deps),
      threads: createThreads(deps, team),
    })
    for (const id of [botUser, botId]) if (id !== '') bots.add(id)
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

  const find = async (team: string): Promise<Workspace | undefined> => found.get(team)
  /** The only workspace there is; undefined where there are several, or none yet. */
  const only = (): Workspace | undefined => (apis.length === 1 ? found.values().next().value : undefined)

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
    /** What is wrong with tokens, and which workspaces have none though Slack tells of them. */
    faults(): readonly string[] {
      const faulty = [...found.values()].filter(({ api }) => api.fault() !== undefined)
      const faults = faulty.map(({ name, api }) => `the bot token of ${name} does not work: ${api.fault()}`)
      const strange = [...strangers].filter(([, at]) => at > now() - STRANGE).map(([team]) => unknown(team))
      return [...refused, ...faults, ...strange]
    },
    /** The workspace of a team id, once `ready` has resolved. */
    find,
    only,
    /** Whose payload it is. Undefined: there is no bot token for it, which log, metrics and status tell. */
    async of(payload: JsonObject): Promise<Workspace | undefined> {
      const ids = installationsOf(payload)
      for (const id of ids) {
        const workspace = await find(id)
        if (workspace) return workspace
      }
      if (ids.length === 0 && only()) return only()
      const [team = 'that is not named'] = ids
      deps.refused('unknown_team', { from: team, why: unknown(team), body: JSON.stringify(payload) })
      if ((strangers.get(team) ?? 0) > now() - STRANGE) return undefined
      strangers.set(team, now())
      log.warn({ team }, unknown(team))
      return undefined
    },
    /** Whether a user's or bot's id is that of our bot in one of them: shared channels show us the others. */
    isOwnBot: (id: unknown) => bots.has(id),
  }
}

/** The threads that the bot is in, for `match: { thread: mine }`: on the store, as another daemon may have spoken there. */
function createThreads({ kv, gateway, log }: TransportDeps, team: string) {
  const nameOf = (channel: string, thread: string) => `slack/${gateway}/thread/${team}/${channel}/${thread}`
  return {
    /** Never rejects: an answer that was sent counts as sent. */
    async join(channel: string, thread: string | undefined): Promise<void> {
      if (thread === undefined) return
      try {
        await kv.set(nameOf(channel, thread), true, { ttl: THREAD_KEPT })
      } catch (error) {
        const reason = reasonOf(error)
        log.debug({ channel, thread, reason }, 'that the bot is in a thread could not be kept')
      }
    },
    has: async (channel: string, thread: string): Promise<boolean> =>
      (await kv.get(nameOf(channel, thread))) !== undefined,
  }
}

function unknown(team: string): string {
  return `events of the workspace ${team} are refused: no bot token here is for it; add one to botToken, or remove the app there`
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
    /** Of a channel or a user, as their ids say. */
    nameOf: (id: string, patience: number) =>
      lookUp(id, patience, async () => {
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
