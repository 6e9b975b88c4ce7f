import type { AuthorizeResult, AuthorizeSourceData } from '@slack/bolt'
import { isForGateway } from '../../../src/core/match.ts'
import { backoff } from '../../../src/lib/backoff.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { type AppThread, startAppThread } from './app-thread.ts'
import { cannotBeLoaded } from './try-app.ts'

/** Back-off (ms) for restarting an app that ended itself; resets after it ran for `proven` ms. */
const RESTART = { first: 1000, longest: 60_000 }
const PROVEN = 60_000

/**
 * The Bolt apps of a gateway, one per file, each in a thread. A file is loaded on first use, and reloaded when code in its folder
 * changes. If that fails, the last good version stays; a replaced version ends with everything it started.
 */
export function createApps(options: SlackOptions, deps: SlackDeps, workspaces: Workspaces) {
  const { gateway, log, modules, router, now } = deps
  const apps = new Map<string, Promise<AppThread>>()
  const watches = new Map<string, ReturnType<typeof modules.watch>>()
  const faults = new Map<string, string>()
  const crashes = new Map<string, { count: number; at: number }>()
  const closing = new AbortController()

  const load = async (file: string): Promise<AppThread> => {
    try {
      const app = await start(file, options, log, workspaces, (why) => void restart(file, why))
      faults.delete(file)
      return app
    } catch (err) {
      faults.set(file, cannotBeLoaded(file, err))
      log.error({ app: file, err }, 'a Bolt app cannot be loaded')
      throw err
    }
  }

  const of = (file: string): Promise<AppThread> => {
    const known = apps.get(file)
    if (known) return known
    const app = load(file)
    apps.set(file, app)
    watches.set(file, watches.get(file) ?? modules.watch(file, () => reload(file)))
    app.catch(() => forget(file, app))
    return app
  }

  const forget = (file: string, app: Promise<AppThread> | undefined) => {
    if (apps.get(file) === app) apps.delete(file)
  }

  const reload = async (file: string) => {
    const before = apps.get(file)
    if (!files().includes(file)) {
      forget(file, before)
      return retire(before)
    }
    const app = load(file)
    // The failure is logged and shown in the status.
    if (!(await app.catch(() => undefined))) return
    apps.set(file, app)
    retire(before)
    log.info({ app: file }, 'the Bolt app is reloaded')
  }

  /** Restarts an app that ended itself, as its timers and other background work are needed too. */
  const restart = async (file: string, why: string) => {
    apps.delete(file)
    if (closing.signal.aborted) return
    const known = crashes.get(file)
    const count = known && now() - known.at < PROVEN ? known.count + 1 : 1
    crashes.set(file, { count, at: now() })
    const delay = backoff(count, RESTART)
    faults.set(file, `the Bolt app ${file} ended: ${why}`)
    log.error({ app: file, why, delay }, 'a Bolt app ended and is restarted')
    await pause(delay, closing.signal)
    if (!closing.signal.aborted && files().includes(file)) await of(file).catch(() => {})
  }

  const routes = () => router.routes().filter(({ match }) => isForGateway(match, gateway))
  const files = () => [...new Set(routes().flatMap(({ bolt }) => bolt ?? []))]

  return {
    /** The app files named by routes of this gateway, in order. */
    files,
    /** Rejects with the reason if it cannot be loaded. */
    of,
    faults: () => files().flatMap((file) => faults.get(file) ?? []),
    async close(): Promise<void> {
      closing.abort()
      for (const watch of watches.values()) void watch.then((end) => end())
      await Promise.allSettled([...apps.values()].map(async (app) => (await app).terminate()))
    },
  }
}

/** Ends a replaced version of an app after its last runs. Never rejects. */
function retire(app: Promise<AppThread> | undefined): void {
  app?.then((thread) => thread.retire()).catch(() => {})
}

/** Starts the thread of an app. `exited` is called when it ends itself. */
async function start(
  file: string,
  { 'api-url': apiUrl, mode }: SlackOptions,
  log: SlackDeps['log'],
  workspaces: Workspaces,
  exited: (why: string) => void,
): Promise<AppThread> {
  await workspaces.ready()
  const only = workspaces.only()
  const identity = only && { token: only.api.token ?? '', botId: only.botId, botUserId: only.botUser }
  const retryNum = mode === 'socket' ? 0 : undefined
  const data = { file, apiUrl, ...defined({ identity, retryNum }) }
  const authorize = (source: AuthorizeSourceData<boolean>) => authorizeIn(workspaces, source)
  return startAppThread({ data, log: log.child({ app: file }), authorize, exited })
}

/** The tokens with which a listener acts. */
async function authorizeIn(
  workspaces: Workspaces,
  { teamId = '', enterpriseId = '', userId }: AuthorizeSourceData<boolean>,
): Promise<AuthorizeResult> {
  const workspace = (await workspaces.find(teamId)) ?? (await workspaces.find(enterpriseId))
  if (!workspace) throw new Error(`there is no bot token for the workspace ${teamId || enterpriseId}`)
  const { api, botId, botUser: botUserId, installer } = workspace
  // Only the installer may act with the installer's user token.
  const userToken = installer?.id === userId ? installer?.token : undefined
  return { botToken: api.token ?? '', botId, botUserId, teamId, ...defined({ userToken }) }
}
