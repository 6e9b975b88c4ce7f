import * as bolt from '@slack/bolt'
import {
  AwsLambdaReceiver,
  customPropertiesOf,
  ExpressReceiver,
  HTTPReceiver,
  SocketModeReceiver,
  startReceiver,
} from './receivers.ts'

export * from '@slack/bolt'

/** Options about receiving events, which the gateway determines. */
const RECEIVER_OPTIONS = [
  'appToken',
  'socketMode',
  'signingSecret',
  'port',
  'endpoints',
  'developerMode',
] as const
/**
 * Options about the bot's identity: the gateway determines them, unless the app authorizes events
 * itself.
 */
const IDENTITY_OPTIONS = ['token', 'botId', 'botUserId', 'authorize'] as const

/**
 * The host of the Apps in this thread. `options`: those of the gateway. `onCreated` is called for
 * each App, with its own options.
 */
export type Host = { options: bolt.AppOptions; onCreated(app: App, options: bolt.AppOptions): void }

let host: Host | undefined

export function setHost(next: Host): void {
  host = next
}

/**
 * Bolt's App for files loaded by the gateway: an App created with `new App(…)` uses the gateway's
 * Slack client, and gets the gateway's events. All other options apply, including `authorize`.
 */
export class App extends bolt.App {
  /** Resolves once the file has called `start`, when all listeners are registered. */
  readonly started = Promise.withResolvers<void>()

  readonly #options: bolt.AppOptions

  constructor(options: bolt.AppOptions = {}) {
    if (!host) throw new Error('an App can only be created in a file that a route of routes.yaml names')
    const ofApp = { ...options }
    const ofHost = { ...host.options }
    for (const key of RECEIVER_OPTIONS) delete ofApp[key]
    // Only one of both gives the identity: the app if it authorizes itself, otherwise the gateway.
    const withoutIdentity = options.authorize ? ofHost : ofApp
    for (const key of IDENTITY_OPTIONS) delete withoutIdentity[key]
    if (options.logger) delete ofHost.logger
    super({ ...ofApp, ...ofHost, clientOptions: { ...ofApp.clientOptions, ...ofHost.clientOptions } })
    this.#options = options
    host.onCreated(this, options)
  }

  override processEvent(event: bolt.ReceiverEvent): Promise<void> {
    const properties = customPropertiesOf(this.#options.receiver, event.body)
    return super.processEvent({ ...event, customProperties: { ...event.customProperties, ...properties } })
  }

  override async start(
    ...args: Parameters<bolt.App['start']>
  ): Promise<Awaited<ReturnType<bolt.App['start']>>> {
    this.started.resolve()
    await startReceiver(this.#options, args)
    return super.start(...args)
  }
}

const hosted = { ...bolt, App, AwsLambdaReceiver, ExpressReceiver, HTTPReceiver, SocketModeReceiver }

// For `import bolt from '@slack/bolt'`, and `require('@slack/bolt')`.
export {
  AwsLambdaReceiver,
  ExpressReceiver,
  HTTPReceiver,
  hosted as default,
  hosted as 'module.exports',
  SocketModeReceiver,
}
