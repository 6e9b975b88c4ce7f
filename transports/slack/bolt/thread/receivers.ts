import * as bolt from '@slack/bolt'
import { pause } from '../../../../src/lib/pause.ts'

/** Placeholder for secrets that receivers require but only the gateway has. */
const HELD = 'held-by-the-gateway'
/** Default port of custom routes, as in Bolt. */
const PORT = 3000
/** How long (ms) to wait for a replaced app's port, and the retry interval. */
const PORT_FREE = 75_000
const TRY_AGAIN = 500

type Options<R extends abstract new (...args: never[]) => unknown> = NonNullable<ConstructorParameters<R>[0]>
type Extract = (request: { body: unknown; headers: object; query: object }) => object

/** Receivers created by an app: events come from the gateway; other routes are served. */
export class HTTPReceiver extends bolt.HTTPReceiver {
  readonly listensAt: number

  constructor(said: Options<typeof bolt.HTTPReceiver>) {
    super({ ...said, signingSecret: said.signingSecret || HELD })
    this.listensAt = said.port ?? PORT
  }
}

export class ExpressReceiver extends bolt.ExpressReceiver {
  constructor(said: Options<typeof bolt.ExpressReceiver>) {
    super({ ...said, signingSecret: said.signingSecret || HELD })
  }
}

export class AwsLambdaReceiver extends bolt.AwsLambdaReceiver {
  constructor(said: Options<typeof bolt.AwsLambdaReceiver>) {
    super({ ...said, signingSecret: said.signingSecret || HELD })
  }
}

export class SocketModeReceiver extends bolt.SocketModeReceiver {
  readonly customPropertiesExtractor: unknown
  readonly #routes: RoutesSaid

  constructor(said: Options<typeof bolt.SocketModeReceiver>) {
    const { customRoutes = [], installerOptions, ...rest } = said
    super({ ...rest, appToken: said.appToken || HELD })
    this.customPropertiesExtractor = said.customPropertiesExtractor
    this.#routes = { customRoutes, port: installerOptions?.port ?? PORT }
  }

  override async start() {
    await serveRoutes(this.#routes)
    return super.start()
  }
}

/** Calls a receiver's `customPropertiesExtractor` with a payload. The original request is no longer available. */
export function customPropertiesOf(receiver: unknown, body: unknown): object {
  const { customPropertiesExtractor: extract }: { customPropertiesExtractor?: Extract } = Object(receiver)
  return extract?.({ body, headers: {}, query: {} }) ?? {}
}

type RoutesSaid = { customRoutes: NonNullable<bolt.AppOptions['customRoutes']>; port: number }

/** Serves custom routes, if any. */
async function serveRoutes({ customRoutes, port }: RoutesSaid): Promise<void> {
  if (customRoutes.length === 0) return
  const receiver = new bolt.HTTPReceiver({ signingSecret: HELD, endpoints: [], customRoutes, port })
  await whenPortIsFree(() => receiver.start(port))
}

/**
 * Starts an App's receiver for its custom routes. Receivers of other kinds are not started, as they may open their own connection to
 * Slack.
 */
export async function startReceiver(said: bolt.AppOptions, args: readonly unknown[]): Promise<unknown> {
  const { receiver, customRoutes = [], socketMode, port = PORT, installerOptions } = said
  const [at] = args
  const named = toPort(at)
  if (receiver instanceof HTTPReceiver)
    return whenPortIsFree(() => receiver.start(named ?? receiver.listensAt))
  if (receiver instanceof ExpressReceiver) return whenPortIsFree(() => receiver.start(named ?? PORT))
  if (receiver instanceof SocketModeReceiver || receiver instanceof AwsLambdaReceiver) return receiver.start()
  const asked = socketMode ? installerOptions?.port : named
  return serveRoutes({ customRoutes, port: asked ?? port })
}

function toPort(value: unknown): number | undefined {
  const port = Number(value)
  return value !== undefined && Number.isInteger(port) ? port : undefined
}

/** Listens as soon as the port, which the replaced version may still hold, is free. */
async function whenPortIsFree<T>(listen: () => Promise<T>): Promise<T | undefined> {
  try {
    return await listen()
  } catch (error) {
    if (!isTaken(error)) throw error
    void (async () => {
      for (const end = Date.now() + PORT_FREE; Date.now() < end; ) {
        await pause(TRY_AGAIN)
        if (await listen().catch((error) => !isTaken(error))) return
      }
      throw new Error('the port of its routes is taken', { cause: error })
    })()
    return undefined
  }
}

const isTaken = (error: unknown) => Object(error).code === 'EADDRINUSE'
