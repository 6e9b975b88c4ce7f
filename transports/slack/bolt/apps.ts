import { extname } from 'node:path'
import type { App, AppOptions } from '@slack/bolt'
import { LogLevel } from '@slack/web-api'
import { reasonOf } from '../../../src/core/errors.ts'
import type { Log } from '../../../src/core/log.ts'
import { compilePattern } from '../../../src/core/pattern.ts'
import type { RouteMatch } from '../../../src/core/route.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { type Fetch, fetchSlack } from '../api.ts'
import type { SlackOptions } from '../options.ts'
import type { Workspaces } from '../workspaces.ts'

/** Files that import Bolt get this in its place. */
const HOSTED = new URL(`./hosted${extname(import.meta.filename)}`, import.meta.url).href

/**
 * The Bolt apps of a gateway, one a file. A file is loaded when it is first needed, and again
 * when code in its folder is saved; what cannot be loaded keeps its last good version.
 */
export function createApps(options: SlackOptions, deps: TransportDeps, workspaces: Workspaces) {
  const { gateway, log, modules, router } = deps
  const apps = new Map<string, Promise<App>>()
  const watches = new Map<string, ReturnType<typeof modules.watch>>()
  const faults = new Map<string, string>()

  const optionsFor = (file: string): AppOptions => {
    const only = workspaces.only()
    return {
      receiver: { init() {}, start: async () => {}, stop: async () => {} },
      // A call that waits for others would be made as one of theirs.
      clientOptions: {
        ...{ slackApiUrl: options.apiUrl, fetch: patientFetch },
        maxRequestConcurrency: Number.POSITIVE_INFINITY,
      },
      logger: boltLogger(log.child({ app: file })),
      ...(only ? { token: only.api.token ?? '', botId: only.botId, botUserId: only.botUser } : { authorize }),
    }
  }

  const authorize: NonNullable<AppOptions['authorize']> = async (source) => {
    const { teamId = '', enterpriseId = '', userId } = source
    const workspace = (await workspaces.find(teamId)) ?? (await workspaces.find(enterpriseId))
    if (!workspace) throw new Error(`there is no bot token for the workspace ${teamId || enterpriseId}`)
    const { api, botId, botUser: botUserId, installer } = workspace
    // Nobody acts as the one who installed the app but they themselves.
    const userToken = installer?.id === userId ? installer?.token : undefined
    return { botToken: api.token ?? '', botId, botUserId, teamId, ...defined({ userToken }) }
  }

  const load = async (file: string): Promise<App> => {
    try {
      await workspaces.ready()
      const hosted = await import('./hosted.ts')
      const app = await hosted.hosting(optionsFor(file), async () => {
        const register = listenersOf(await modules.load(file, { '@slack/bolt': HOSTED }))
        if (register) await register(new hosted.App())
      })
      if (!app)
        throw new Error('it exports no function that gets a Bolt App, and makes none with `new App()`')
      faults.delete(file)
      return app
    } catch (err) {
      faults.set(file, `the Bolt app ${file} cannot be loaded: ${reasonOf(err)}`)
      log.error({ app: file, err }, 'a Bolt app cannot be loaded')
      throw err
    }
  }

  const of = (file: string): Promise<App> => {
    const known = apps.get(file)
    if (known) return known
    const app = load(file)
    apps.set(file, app)
    watches.set(file, watches.get(file) ?? modules.watch(file, () => reload(file)))
    app.catch(() => apps.delete(file))
    return app
  }

  const reload = async (file: string) => {
    if (!files().includes(file)) return void apps.delete(file)
    const app = load(file)
    // What went wrong is told already.
    if (!(await app.catch(() => undefined))) return
    apps.set(file, app)
    log.info({ app: file }, 'the Bolt app is loaded anew')
  }

  const isHere = ({ gateway: names }: RouteMatch) =>
    typeof names !== 'object' || names.some((name) => compilePattern(name).test(gateway))
  const routes = () => router.routes().filter(({ match }) => isHere(match))
  const files = () => [...new Set(routes().flatMap(({ bolt }) => bolt ?? []))]

  return {
    /** The files that routes of this gateway name, in their order. */
    files,
    /** Rejects where it cannot be loaded, with why. */
    of,
    faults: () => files().flatMap((file) => faults.get(file) ?? []),
    close() {
      for (const watch of watches.values()) void watch.then((end) => end())
    },
  }
}

/** Waits where Slack has enough: while Bolt's client did, it would mix up the calls of several runs. */
const patientFetch: Fetch = async (input, init) => {
  for (;;) {
    const response = await fetchSlack(input, init)
    const seconds = Number(response.headers.get('retry-after'))
    if (response.status !== 429 || !(seconds > 0)) return response
    await response.body?.cancel()
    await pause(seconds * 1000)
  }
}

type Register = (app: App) => unknown

/** The function that a file exports for its listeners: by default, or as Slack's own templates name it. */
function listenersOf(module: Record<string, unknown>): Register | undefined {
  const { default: own, registerListeners } = module
  const candidates = [own, registerListeners, Object(own).registerListeners, Object(own).default]
  return candidates.find((one): one is Register => typeof one === 'function')
}

function boltLogger(log: Log): NonNullable<AppOptions['logger']> {
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...said: unknown[]) =>
      log[level]({ err: said.find((one) => one instanceof Error) }, said.map(reasonOf).join(' '))
  const levels = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { ...levels, setLevel() {}, getLevel: () => LogLevel.INFO, setName() {} }
}
