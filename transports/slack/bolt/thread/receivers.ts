import * as bolt from '@slack/bolt'
import { pause } from '../../../../src/lib/pause.ts'

/** Placeholder for secrets that receivers require but only the gateway has. */
const PLACEHOLDER = 'held-by-the-gateway'
/** Default port of custom routes, as in Bolt. */
const DEFAULT_PORT = 3000
/** How long to wait for the port of a replaced app: longer than its last runs may take. */
const PORT_TIMEOUT_MS = 75_000
/** Interval of the tries to get the port in that time. */
const RETRY_MS = 500

type Options<R extends abstract new (...args: never[]) => unknown> = NonNullable<ConstructorParameters<R>[0]>
type ExtractProperties = (request: { body: unknown; headers: object; query: object }) => object

/** Receivers created by an app: events come from the gateway; other routes are served. */
export class HTTPReceiver extends bolt.HTTPReceiver {
  readonly configuredPort: number

  constructor(options: Options<typeof bolt.HTTPReceiver>) {
    super({ ...options, signingSecret: options.signingSecret || PLACEHOLDER })
    this.configuredPort = options.port ?? DEFAULT_PORT
  }
}

export class ExpressReceiver extends bolt.ExpressReceiver {
  constructor(options: Options<typeof bolt.ExpressReceiver>) {
    super({ ...options, signingSecret: options.signingSecret || PLACEHOLDER })
  }
}

export class AwsLambdaReceiver extends bolt.AwsLambdaReceiver {
  constructor(options: Options<typeof bolt.AwsLambdaReceiver>) {
    super({ ...options, signingSecret: options.signingSecret || PLACEHOLDER })
  }
}

export class SocketModeReceiver extends bolt.SocketModeReceiver {
  readonly customPropertiesExtractor: unknown
  readonly #routes: CustomRoutes

  constructor(options: Options<typeof bolt.SocketModeReceiver>) {
    const { customRoutes = [], installerOptions, ...rest } = options
    super({ ...rest, appToken: options.appToken || PLACEHOLDER })
    this.customPropertiesExtractor = options.customPropertiesExtractor
    this.#routes = { customRoutes, port: installerOptions?.port ?? DEFAULT_PORT }
  }

  override async start() {
    await serveRoutes(this.#routes)
    return super.start()
  }
}

/**
 * Calls a receiver's `customPropertiesExtractor` with a payload. The original request is no longer
 * available.
 */
export function customPropertiesOf(receiver: unknown, body: unknown): object {
  const { customPropertiesExtractor: extract }: { customPropertiesExtractor?: ExtractProperties } =
    Object(receiver)
  return extract?.({ body, headers: {}, query: {} }) ?? {}
}

type CustomRoutes = { customRoutes: NonNullable<bolt.AppOptions['customRoutes']>; port: number }

/** Serves custom routes, if any. */
async function serveRoutes({ customRoutes, port }: CustomRoutes): Promise<void> {
  if (customRoutes.length === 0) return
  const receiver = new bolt.HTTPReceiver({
    signingSecret: PLACEHOLDER,
    endpoints: [],
    customRoutes,
    port,
  })
  await whenPortIsFree(() => receiver.start(port))
}

/**
 * Starts an App's receiver for its custom routes, at the port that `app.start` was called with
 * (`args`) or that its options name. Receivers of other kinds are not started, because they may
 * open their own connection to Slack.
 */
export async function startReceiver(options: bolt.AppOptions, args: readonly unknown[]): Promise<unknown> {
  const { receiver, customRoutes = [], socketMode, port = DEFAULT_PORT, installerOptions } = options
  const startPort = toPort(args[0])
  if (receiver instanceof HTTPReceiver)
    return whenPortIsFree(() => receiver.start(startPort ?? receiver.configuredPort))
  if (receiver instanceof ExpressReceiver)
    return whenPortIsFree(() => receiver.start(startPort ?? DEFAULT_PORT))
  if (receiver instanceof SocketModeReceiver || receiver instanceof AwsLambdaReceiver) return receiver.start()
  const routesPort = socketMode ? installerOptions?.port : startPort
  return serveRoutes({ customRoutes, port: routesPort ?? port })
}

function toPort(value: unknown): number | undefined {
  const port = Number(value)
  return value !== undefined && Number.isInteger(port) ? port : undefined
}

/**
 * Listens. If the replaced version still has the port, resolves with undefined, and listens as soon
 * as the port is free. A failure then is an unhandled rejection, which `main.ts` logs.
 */
async function whenPortIsFree<T>(listen: () => Promise<T>): Promise<T | undefined> {
  try {
    return await listen()
  } catch (error) {
    if (!isPortTaken(error)) throw error
    void listenLater(listen)
    return undefined
  }
}

async function listenLater(listen: () => Promise<unknown>): Promise<void> {
  const deadline = performance.now() + PORT_TIMEOUT_MS
  let taken: unknown
  while (performance.now() < deadline) {
    await pause(RETRY_MS)
    try {
      await listen()
      return
    } catch (error) {
      if (!isPortTaken(error)) throw error
      taken = error
    }
  }
  throw new Error('the port of its routes is taken', { cause: taken })
}

const isPortTaken = (error: unknown) => Object(error).code === 'EADDRINUSE'
