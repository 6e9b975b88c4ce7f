import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type JsonObject, objectAt, parseJson, textAt } from '../../../src/core/json.ts'
import { openSite, type Site } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'

const MODULES = join(fileURLToPath(new URL('../../..', import.meta.url)), 'node_modules')
/** The gateway asks more than Bolt does, and what is asked changes nothing. */
const ASKING = /^(auth|apps|users|conversations)\./

/** Who does it in Slack. */
export const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', name: 'ann', team_id: 'T0TEAM' } }
let serial = 0
export const trigger = () => `trigger.${++serial}`

/** A Socket Mode gateway, all of whose events go to this app. */
export const routesFor = ({ apiUrl }: SlackServer, file: string, more = '') => `
gateways:
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${apiUrl}" }
routes:
  - name: app
    match: { gateway: team }
    bolt: ${file}
    retry: { attempts: 4, backoff: fixed, delay: 50ms }
${more}`

/** Runs an app by Bolt alone. */
async function startPlain(t: TestContext, { apiUrl, sockets }: SlackServer, file: string): Promise<void> {
  const names = { SLACK_BOT_TOKEN: 'xoxb-test', SLACK_APP_TOKEN: 'xapp-test', SLACK_API_URL: apiUrl }
  const env = { ...process.env, NODE_PATH: MODULES, ...names }
  const child = spawn(process.execPath, [file], { env, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await until(() => sockets.open() === 1, 'the socket of plain Bolt', 30_000)
}

/** A site where a daemon runs an app of this source. */
export function openApp(slack: SlackServer, source: string, file = 'apps/app.js'): Site {
  const site = openSite({ routes: routesFor(slack, `./${file}`) })
  site.write(file, source)
  return site
}

/** What somebody does in Slack. It has to be acknowledged; `call`: a method that the app then calls. */
export type Deliver = (type: string, payload: JsonObject, call?: string) => Promise<void>

/**
 * Uses an app in CommonJS, first run by Bolt alone, then by the daemon: Slack must see the same of both, in acknowledgements
 * and calls. Returns it. `files`: what else the app is made of, by path.
 */
export async function compare(
  t: TestContext,
  source: string,
  use: (deliver: Deliver, slack: SlackServer) => Promise<void>,
  files: Record<string, string> = {},
) {
  const run = async (start: (site: Site, slack: SlackServer) => Promise<unknown>) => {
    const slack = await startSlackServer()
    slack.isForAgents = true
    t.after(() => slack.close())
    const site = openApp(slack, source)
    for (const [path, content] of Object.entries(files)) site.write(path, content)
    await start(site, slack)
    await until(() => slack.sockets.open() === 1, 'a socket', 30_000)
    const said: unknown[] = []
    const countOf = (call: string) => slack.calls.filter(({ method }) => method === call).length
    const deliver: Deliver = async (type, payload, call) => {
      const before = call ? countOf(call) : 0
      const delivered = await slack.sockets.deliver(type, payload)
      assert.ok(delivered.acked, `${type} was not acknowledged`)
      // Bolt says nothing in an empty object.
      said.push(Object.keys(delivered.payload ?? {}).length > 0 ? delivered.payload : null)
      if (call) await until(() => countOf(call) > before, `${call} after ${type}`)
    }
    await use(deliver, slack)
    return { said, calls: seen(slack), shown: slack.posts.map(({ channel, text }) => ({ channel, text })) }
  }
  const alone = await run(({ dir }, slack) => startPlain(t, slack, join(dir, 'apps/app.js')))
  const hosted = await run((site) => site.start())
  assert.deepEqual(hosted, alone)
  return hosted
}

/** What an app called, without what is of one run or of the gateway. */
function seen({ calls }: SlackServer) {
  const made = calls.filter(({ method }) => !ASKING.test(method))
  return made.map(({ method, args: { token: _, trigger_id: __, metadata, ...args } }) => {
    const read = typeof metadata === 'string' ? parseJson(metadata) : metadata
    const { trivium_key: ___, trivium_part: ____, ...own } = objectAt(read, 'event_payload')
    const isOurs = textAt(read, 'event_type') === 'trivium_reply'
    return { method, args, metadata: read && !isOurs ? own : undefined }
  })
}
