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

/** Options about how events arrive and how Slack is called, which the gateway determines. */
const ENTRANCES = ['appToken', 'socketMode', 'signingSecret', 'port', 'endpoints', 'developerMode'] as const
const IDENTITY = ['token', 'botId', 'botUserId', 'authorize'] as const

/** The host of the Apps in this thread. `options` are those of the gateway. `made` is called for each App. */
export type Host = { options: bolt.AppOptions; made(app: App, said: bolt.AppOptions): void }

let host: Host | undefined

export function setHost(next: Host): void {
  host = next
}

/**
 * Bolt's App for files loaded by the gateway: an App created with `new App(…)` uses the gateway's
 * Slack client, and gets the gateway's events. All other options of the file apply, including its
 * authorization.
 */
export class App extends bolt.App {
  /** Resolves once the file has called `start`, when all listeners are registered. */
  readonly started = Promise.withResolvers<void>()

  readonly #said: bolt.AppOptions

  constructor(said: bolt.AppOptions = {}) {
    if (!host) throw new Error('an App is made where a route names the file')
    const [own, given] = [{ ...said }, { ...host.options }]
    for (const key of ENTRANCES) delete own[key]
    for (const key of IDENTITY) delete (said.authorize ? given : own)[key]
    if (said.logger) delete given.logger
    super({ ...own, ...given, clientOptions: { ...own.clientOptions, ...given.clientOptions } })
    this.#said = said
    host.made(this, said)
  }

  override processEvent(event: bolt.ReceiverEvent): Promise<void> {
    const made = customPropertiesOf(this.#said.receiver, event.body)
    return super.processEvent({ ...event, customProperties: { ...event.customProperties, ...made } })
  }

  override async start(
    ...args: Parameters<bolt.App['start']>
  ): Promise<Awaited<ReturnType<bolt.App['start']>>> {
    this.started.resolve()
    await startReceiver(this.#said, args)
    return super.start(...args)
  }
}

const hosted = { ...bolt, App, AwsLambdaReceiver, ExpressReceiver, HTTPReceiver, SocketModeReceiver }

// `import bolt from '@slack/bolt'`, and `require('@slack/bolt')`.
export {
  AwsLambdaReceiver,
  ExpressReceiver,
  HTTPReceiver,
  hosted as default,
  hosted as 'module.exports',
  SocketModeReceiver,
}
