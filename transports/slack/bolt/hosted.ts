import { AsyncLocalStorage } from 'node:async_hooks'
import * as bolt from '@slack/bolt'

export * from '@slack/bolt'

/** How events come in, and how Slack is called, is the gateway's affair. */
const ENTRANCES = ['appToken', 'socketMode', 'signingSecret', 'port', 'endpoints', 'developerMode'] as const
const IDENTITY = ['token', 'botId', 'botUserId', 'authorize'] as const

/** Who hosts the file that is being loaded, and the App that it made last. */
const hosts = new AsyncLocalStorage<{ options: bolt.AppOptions; app?: bolt.App }>()

/**
 * Bolt's App for files that the gateway loads: one that a file makes with `new App(…)` gets the gateway's Slack, and hears
 * what the gateway hears. All else that the file says of it holds, also how it authorizes.
 */
export class App extends bolt.App {
  constructor(said: bolt.AppOptions = {}) {
    const host = hosts.getStore()
    if (!host) throw new Error('an App is made where a route names the file')
    const [own, given] = [{ ...said }, { ...host.options }]
    for (const key of ENTRANCES) delete own[key]
    for (const key of IDENTITY) delete (said.authorize ? given : own)[key]
    super({ ...own, ...given, clientOptions: { ...own.clientOptions, ...given.clientOptions } })
    host.app = this
  }
}

const hosted = { ...bolt, App }

// `import bolt from '@slack/bolt'`, and `require('@slack/bolt')`.
export { hosted as default, hosted as 'module.exports' }

/** Runs `load`, and resolves with the last App that was made meanwhile, if any. */
export async function hosting(options: bolt.AppOptions, load: () => Promise<void>) {
  const host: { options: bolt.AppOptions; app?: bolt.App } = { options }
  await hosts.run(host, load)
  return host.app
}
