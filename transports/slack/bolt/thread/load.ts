import { pathToFileURL } from 'node:url'
import type { AppOptions, AuthorizeResult } from '@slack/bolt'
import { inTime } from '../../../../src/lib/pause.ts'
import type { ThreadData } from '../protocol.ts'
import { App, setHost } from './hosted.ts'
import type { Link } from './link.ts'
import { createLogger } from './logger.ts'

/** Timeout of each step: loading the file, creating its App, starting it. */
const STEP_TIMEOUT_MS = 10_000
/** How long to wait for an App after an exported function failed to provide one. */
const LATE_APP_TIMEOUT_MS = 2_000

/** Options that identify a Slack app. */
const CREDENTIALS = ['token', 'appToken', 'signingSecret', 'clientId'] as const

/**
 * An App of the file, with its options. `initialCount`: the number of listeners and middleware of a
 * new App.
 */
type Created = { app: App; options: AppOptions; initialCount: number }

/**
 * Loads an app's file. Its Apps are those it creates during loading or soon after; if it creates
 * none, its exported function gets one. Throws with the reason if there is no usable App.
 */
export async function loadApps(data: ThreadData, link: Link, fetch: typeof globalThis.fetch): Promise<App[]> {
  const created: Created[] = []
  let firstCreated = Promise.withResolvers<void>()
  setHost({
    options: optionsOf(data, link, fetch),
    onCreated(app, options) {
      created.push({ app, options, initialCount: countOf(app) })
      firstCreated.resolve()
    },
  })
  const loading = import(pathToFileURL(data.file).href)
  const module: Record<string, unknown> | undefined = await inTime(
    loading,
    AbortSignal.timeout(STEP_TIMEOUT_MS),
  )
  if (!module) throw new Error(`its top level did not end within ${STEP_TIMEOUT_MS / 1000} s`)
  const register = registerIn(module)
  if (created.length === 0 && register) {
    const ours = new App()
    // `onCreated` has recorded our App too. From here on, `created` has only Apps of the file.
    const initialCount = created.pop()?.initialCount ?? 0
    firstCreated = Promise.withResolvers()
    const failure = await failureOf(register, ours)
    if (created.length === 0 && !failure && countOf(ours) > initialCount) return [ours]
    // Otherwise, the function is something else, such as a serverless handler.
    if (created.length === 0) await inTime(firstCreated.promise, AbortSignal.timeout(LATE_APP_TIMEOUT_MS))
    if (created.length === 0) throw failure ?? new Error(NOTHING_REGISTERED)
  }
  // An App may be created after an await.
  if (created.length === 0) await inTime(firstCreated.promise, AbortSignal.timeout(STEP_TIMEOUT_MS))
  if (created.length === 0) throw new Error(NOTHING_CREATED)
  refuseSeveral(created)
  await Promise.all(created.map(untilComplete))
  return created.map(({ app }) => app)
}

const NOTHING_CREATED = 'it makes no App with `new App()`, and exports no function that takes one'
const NOTHING_REGISTERED =
  'it makes no App while it is loaded, and its exported function registers no listeners on the App that it gets. ' +
  'Where it makes an App for each request, make one at the top of the file'

function optionsOf({ apiUrl, identity }: ThreadData, link: Link, fetch: typeof globalThis.fetch): AppOptions {
  const authorize: NonNullable<AppOptions['authorize']> = async (source) =>
    // Written by `authorizeIn` of the daemon.
    (await link.ask({ what: 'authorize', source })) as AuthorizeResult
  return {
    receiver: { init() {}, start: async () => {}, stop: async () => {} },
    // A queued call would run in the context of another call.
    clientOptions: { slackApiUrl: apiUrl, fetch, maxRequestConcurrency: Number.POSITIVE_INFINITY },
    logger: createLogger(link),
    ...(identity ?? { authorize }),
  }
}

type Register = (app: App) => unknown

/**
 * The function that registers listeners: the default export, or the name used by Slack's templates.
 */
function registerIn(module: Record<string, unknown>): Register | undefined {
  const { default: main, registerListeners } = module
  const candidates = [main, registerListeners, Object(main).registerListeners, Object(main).default]
  return candidates.find((each): each is Register => typeof each === 'function')
}

/** Calls the exported function to register listeners; returns its error, if any. */
async function failureOf(register: Register, app: App): Promise<unknown> {
  try {
    const done = Promise.resolve(register(app)).then(() => true)
    if (await inTime(done, AbortSignal.timeout(STEP_TIMEOUT_MS))) return undefined
    return new Error(`its exported function did not end within ${STEP_TIMEOUT_MS / 1000} s`)
  } catch (error) {
    return error ?? new Error('its exported function failed')
  }
}

/** Number of an App's listeners and middleware, which are private in Bolt. */
function countOf(app: App): number {
  const { listeners = [], middleware = [] }: { listeners?: unknown[]; middleware?: unknown[] } = Object(app)
  return listeners.length + middleware.length
}

/** Throws if the Apps of a file belong to different Slack apps, because a gateway is one app. */
function refuseSeveral(created: readonly Created[]): void {
  for (const key of CREDENTIALS) {
    const values = new Set(created.flatMap(({ options }) => options[key] ?? []))
    if (values.size > 1)
      throw new Error(
        `it makes ${created.length} Apps with different values of \`${key}\`. A gateway is one Slack app: put each into a ` +
          'file of its own, with a gateway and a route of its own',
      )
  }
}

/**
 * Waits until an App has its listeners: until it is started, or for a while if it never is. Does
 * not wait for an HTTP App with listeners, which may be for a serverless platform, where nothing
 * starts it.
 */
async function untilComplete({ app, options, initialCount }: Created): Promise<void> {
  const isComplete = countOf(app) > initialCount && !options.socketMode && !options.appToken
  if (!isComplete) await inTime(app.started.promise, AbortSignal.timeout(STEP_TIMEOUT_MS))
}
