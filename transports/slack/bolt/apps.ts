import type { AuthorizeResult, AuthorizeSourceData } from '@slack/bolt'
import { backoff } from '../../../src/lib/backoff.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import type { SlackDeps } from '../host.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces/workspaces.ts'
import { type AppThread, startAppThread } from './app-thread.ts'
import { cannotBeLoaded } from './try-app.ts'

/** Pauses (ms) before an app that ended itself is restarted. */
const RESTART = { first: 1_000, longest: 60_000 }
/** After an app ran for this time, the pauses start again with the first. */
const STABLE_MS = 60_000

/**
 * The Bolt apps of a gateway, one per file, each in a thread. A file is loaded on first use, and
 * reloaded when code in its folder changes. If that fails, the last good version stays. A replaced
 * version ends with everything that it started.
 */
export function createApps(options: SlackOptions, deps: SlackDeps, workspaces: Workspaces) {
  const { log, modules, now } = deps
  const { files } = deps.listeners
  const apps = new Map<string, Promise<AppThread>>()
  const watches = new Map<string, ReturnType<typeof modules.watch>>()
  const faults = new Map<string, string>()
  const nextDelay = createRestartDelays(now)
  const closing = new AbortController()

  const load = (file: string): Promise<AppThread> => {
    if (closing.signal.aborted) return Promise.reject(new Error('the gateway has stopped'))
    // Only the current version is restarted. A new version may end while it is loaded.
    const exited = (why: string) => {
      if (apps.get(file) === app) void restart(file, why)
    }
    const starting = start(file, options, log, workspaces, exited)
    const app: Promise<AppThread> = recordFault(file, starting, faults, log)
    return app
  }

  const get = (file: string): Promise<AppThread> => {
    const existing = apps.get(file)
    if (existing) return existing
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
    if (!files().includes(file)) {
      const unused = apps.get(file)
      forget(file, unused)
      return retire(unused)
    }
    const app = load(file)
    const thread = await app.catch(() => undefined)
    if (!thread) return // logged, and shown in the status
    if (closing.signal.aborted) return thread.terminate()
    // The app may have been restarted in the meantime.
    const before = apps.get(file)
    apps.set(file, app)
    retire(before)
    log.info({ app: file }, 'the Bolt app is reloaded')
  }

  /**
   * Restarts an app that ended itself, even if no event waits, for its timers and background work.
   */
  const restart = async (file: string, why: string) => {
    apps.delete(file)
    if (closing.signal.aborted) return
    const delay = nextDelay(file)
    faults.set(file, `the Bolt app ${file} ended: ${why}`)
    log.error({ app: file, why, delay }, 'a Bolt app ended and is restarted')
    await pause(delay, closing.signal)
    if (!closing.signal.aborted && files().includes(file)) await get(file).catch(() => {})
  }

  return {
    /** The app files named by routes of this gateway, in order. */
    files,
    /** The thread of an app. Rejects with the reason if it cannot be loaded. */
    get,
    /** What works differently for the apps than when they run alone. */
    warnings: () => warningsOf(files(), apps),
    /** Describes the apps that could not be loaded, or ended. */
    faults: () => files().flatMap((file) => faults.get(file) ?? []),
    async close(): Promise<void> {
      closing.abort()
      for (const watch of watches.values()) void watch.then((end) => end())
      await Promise.allSettled([...apps.values()].map(async (app) => (await app).terminate()))
    },
  }
}

/**
 * Creates the function that returns the pause (ms) before an app that ended itself is restarted.
 */
function createRestartDelays(now: () => number) {
  const crashes = new Map<string, { count: number; at: number }>()
  return (file: string): number => {
    const previous = crashes.get(file)
    const count = previous && now() - previous.at < STABLE_MS ? previous.count + 1 : 1
    crashes.set(file, { count, at: now() })
    return backoff(count, RESTART)
  }
}

/** Settles like `starting`. Records and logs why the app cannot be loaded, until it can. */
async function recordFault(
  file: string,
  starting: Promise<AppThread>,
  faults: Map<string, string>,
  log: SlackDeps['log'],
): Promise<AppThread> {
  try {
    const app = await starting
    faults.delete(file)
    return app
  } catch (err) {
    faults.set(file, cannotBeLoaded(file, err))
    log.error({ app: file, err }, 'a Bolt app cannot be loaded')
    throw err
  }
}

async function warningsOf(
  files: readonly string[],
  apps: ReadonlyMap<string, Promise<AppThread>>,
): Promise<string[]> {
  const found = files.map(async (file) => {
    const app = await apps.get(file)?.catch(() => undefined)
    return (app?.warnings ?? []).map((warning) => `${file}: ${warning}`)
  })
  return (await Promise.all(found)).flat()
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
  const single = workspaces.only()
  const identity = single && { token: single.api.token ?? '', botId: single.botId, botUserId: single.botUser }
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
