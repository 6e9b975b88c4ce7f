import { pathToFileURL } from 'node:url'
import type { AppOptions, AuthorizeResult } from '@slack/bolt'
import { inTime } from '../../../../src/lib/pause.ts'
import type { ThreadData } from '../protocol.ts'
import { App, setHost } from './hosted.ts'
import type { Link } from './link.ts'
import { createLogger } from './logger.ts'

/** Timeout (ms) of each step: loading the file, creating its App, starting it. */
const PATIENCE = 10_000
/** How long (ms) to wait for an App after an exported function failed to provide one. */
const SOON = 2000

/** Options that identify a Slack app. */
const CREDENTIALS = ['token', 'appToken', 'signingSecret', 'clientId'] as const

/** An App of the file, with its given options and initial number of listeners and middleware. */
type Made = { app: App; said: AppOptions; bare: number }

/**
 * Loads an app's file. Its Apps are those it creates during loading or soon after; if it creates none, its exported function gets one.
 * Throws with the reason if there is no usable App.
 */
export async function loadApps(data: ThreadData, link: Link, fetch: typeof globalThis.fetch): Promise<App[]> {
  const made: Made[] = []
  let isMade = Promise.withResolvers<void>()
  setHost({
    options: optionsOf(data, link, fetch),
    made(app, said) {
      made.push({ app, said, bare: countOf(app) })
      isMade.resolve()
    },
  })
  const loading = import(pathToFileURL(data.file).href)
  const module: Record<string, unknown> | undefined = await inTime(loading, AbortSignal.timeout(PATIENCE))
  if (!module) throw new Error(`its top level did not end within ${PATIENCE / 1000} s`)
  const register = registerIn(module)
  if (made.length === 0 && register) {
    const given = new App()
    const [bare = 0] = made.splice(0).map((one) => one.bare)
    isMade = Promise.withResolvers()
    const failure = await failureOf(register, given)
    if (made.length === 0 && !failure && countOf(given) > bare) return [given]
    // Then the function is something else, such as a serverless handler.
    if (made.length === 0) await inTime(isMade.promise, AbortSignal.timeout(SOON))
    if (made.length === 0) throw failure ?? new Error(NOTHING_REGISTERED)
  }
  // An App may be created after an await.
  if (made.length === 0) await inTime(isMade.promise, AbortSignal.timeout(PATIENCE))
  if (made.length === 0) throw new Error(NOTHING_MADE)
  refuseSeveral(made)
  await Promise.all(made.map(prepared))
  return made.map(({ app }) => app)
}

const NOTHING_MADE = 'it makes no App with `new App()`, and exports no function that takes one'
const NOTHING_REGISTERED =
  'it makes no App while it is loaded, and its exported function registers no listeners on the App that it gets. ' +
  'Where it makes an App for each request, make one at the top of the file'

function optionsOf({ apiUrl, identity }: ThreadData, link: Link, fetch: typeof globalThis.fetch): AppOptions {
  const authorize: NonNullable<AppOptions['authorize']> = async (source) =>
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

/** The function that registers listeners: the default export, or the name used by Slack's templates. */
function registerIn(module: Record<string, unknown>): Register | undefined {
  const { default: own, registerListeners } = module
  const candidates = [own, registerListeners, Object(own).registerListeners, Object(own).default]
  return candidates.find((one): one is Register => typeof one === 'function')
}

/** Calls the exported function to register listeners; returns its error, if any. */
async function failureOf(register: Register, given: App): Promise<unknown> {
  try {
    const done = Promise.resolve(register(given)).then(() => true)
    const ended = await inTime(done, AbortSignal.timeout(PATIENCE))
    return ended ? undefined : new Error(`its exported function did not end within ${PATIENCE / 1000} s`)
  } catch (error) {
    return error ?? new Error('its exported function failed')
  }
}

/** Number of an App's listeners and middleware, which are private in Bolt. */
function countOf(app: App): number {
  const { listeners = [], middleware = [] }: { listeners?: unknown[]; middleware?: unknown[] } = Object(app)
  return listeners.length + middleware.length
}

/** Throws if the Apps of a file belong to different Slack apps, as a gateway is one app. */
function refuseSeveral(made: readonly Made[]): void {
  for (const key of CREDENTIALS) {
    const values = new Set(made.flatMap(({ said }) => said[key] ?? []))
    if (values.size > 1)
      throw new Error(
        `it makes ${made.length} Apps with different values of \`${key}\`. A gateway is one Slack app: put each into a ` +
          'file of its own, with a gateway and a route of its own',
      )
  }
}

/**
 * Waits until an App has its listeners: until it is started, or for a while if it never is. An HTTP App with listeners may be for a
 * serverless platform, where nothing starts it.
 */
async function prepared({ app, said, bare }: Made): Promise<void> {
  const isComplete = countOf(app) > bare && !said.socketMode && !said.appToken
  if (!isComplete) await inTime(app.started.promise, AbortSignal.timeout(PATIENCE))
}
