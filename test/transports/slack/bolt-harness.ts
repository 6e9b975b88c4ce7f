import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isJsonObject, type JsonObject, objectAt, parseJson, textAt } from '../../../src/core/json.ts'
import { openSite, type Site } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import type { Delivered } from '../../fixtures/slack-socket-server.ts'
import { until } from '../../fixtures/until.ts'
import { signed } from './harness.ts'

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
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${apiUrl}" }
routes:
  - name: app
    match: { gateway: team }
    bolt: ${file}
    retry: { attempts: 4, backoff: fixed, delay: 50ms }
${more}`

/** How an app is run by Bolt alone. `port`: it listens there for HTTP, else it opens a socket. `runner`: a script that runs it. */
export type Alone = { file?: string; port?: number; runner?: string; env?: Record<string, string> }

/** Runs an app by Bolt alone. */
async function startPlain(
  t: TestContext,
  { apiUrl, sockets }: SlackServer,
  file: string,
  { port, runner, env: more }: Alone,
) {
  const names = { SLACK_BOT_TOKEN: 'xoxb-test', SLACK_APP_TOKEN: 'xapp-test', SLACK_API_URL: apiUrl }
  const http = port === undefined ? {} : { PORT: String(port), SLACK_SIGNING_SECRET: SECRET }
  const env = { ...process.env, NODE_PATH: MODULES, ...names, ...http, ...more }
  const preload = new URL('../../fixtures/slack-api-preload.mjs', import.meta.url).href
  const options = { env, cwd: dirname(file), stdio: 'ignore' as const }
  const child = spawn(process.execPath, ['--import', preload, ...(runner ? [runner] : []), file], options)
  t.after(() => child.kill('SIGKILL'))
  const isUp = async () =>
    port === undefined
      ? sockets.open() === 1
      : Boolean(await fetch(`http://127.0.0.1:${port}`).catch(() => false))
  await until(isUp, 'plain Bolt')
}

const SECRET = 'plain-signing-secret'

/** Sends a payload as Slack does by HTTP. */
async function post(port: number, type: string, payload: JsonObject): Promise<Delivered> {
  const form = { slash_commands: payload, interactive: { payload: JSON.stringify(payload) } }[type]
  const body = form
    ? new URLSearchParams(Object.entries(form).map(([k, v]) => [k, String(v)])).toString()
    : JSON.stringify(payload)
  const headers = {
    'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
    ...signed(body, SECRET),
  }
  const signal = AbortSignal.timeout(PATIENCE)
  const sent = fetch(`http://127.0.0.1:${port}/slack/events`, { method: 'POST', headers, body, signal })
  const response = await sent.catch(() => undefined)
  if (!response?.ok) return { acked: false }
  const text = await response.text()
  const said = parseJson(text)
  return { acked: true, ms: 0, ...(text !== '' && { payload: isJsonObject(said) ? said : { text } }) }
}

/** A site where a daemon runs an app of this source. */
export function openApp(slack: SlackServer, source: string, file = 'apps/app.js'): Site {
  const site = openSite({ ownProcess: true, routes: routesFor(slack, `./${file}`) })
  site.write(file, source)
  return site
}

/** What somebody does in Slack. `call`: a method that the app then calls. */
export type Deliver = (type: string, payload: JsonObject, call?: string) => Promise<void>

/** How long a busy machine may take to acknowledge (ms). */
const PATIENCE = 60_000

/**
 * Uses an app in CommonJS, first run by Bolt alone, then by the daemon: Slack must see the same of both, in acknowledgements
 * and calls. Returns it. `files`: what else the app is made of, by path. `deliver` wants an acknowledgement; `attempt` resolves when there is one.
 */
export async function compare(
  t: TestContext,
  source: string,
  use: (deliver: Deliver, slack: SlackServer, attempt: Deliver) => Promise<void>,
  files: Record<string, string> = {},
) {
  const { alone, hosted } = await observe(t, use, (slack) => {
    const site = openApp(slack, source)
    for (const [path, content] of Object.entries(files)) site.write(path, content)
    return { site, file: join(site.dir, 'apps/app.js') }
  })
  assert.deepEqual(hosted, alone)
  return hosted
}

/** What Slack sees of an app by Bolt alone, and behind the daemon. */
export async function observe(
  t: TestContext,
  use: (deliver: Deliver, slack: SlackServer, attempt: Deliver) => Promise<void>,
  open: (slack: SlackServer) => { site: Site; file: string },
  plain: Alone = {},
) {
  const run = async (
    start: (place: ReturnType<typeof open>, slack: SlackServer) => Promise<unknown>,
    port?: number,
  ) => {
    const slack = await startSlackServer()
    slack.isForAgents = true
    t.after(() => slack.close())
    const place = open(slack)
    await start(place, slack)
    if (port === undefined) await until(() => slack.sockets.open() === 1, 'a socket')
    const said: unknown[] = []
    const countOf = (call: string) => slack.calls.filter(({ method }) => method === call).length
    const send = async (type: string, payload: JsonObject) => {
      const at = said.push('not acknowledged') - 1
      const sent = port === undefined ? slack.sockets.deliver(type, payload) : post(port, type, payload)
      const delivered = await sent
      const { payload: answer = {} } = delivered.acked ? delivered : {}
      // Bolt says nothing in an empty object.
      if (delivered.acked) said[at] = Object.keys(answer).length > 0 ? answer : null
      return delivered.acked
    }
    const deliver: Deliver = async (type, payload, call) => {
      const before = call ? countOf(call) : 0
      assert.ok(await send(type, payload), `${type} was not acknowledged`)
      if (call) await until(() => countOf(call) > before, `${call} after ${type}`)
    }
    const attempt: Deliver = async (type, payload) => void (await send(type, payload))
    await use(deliver, slack, attempt)
    return {
      said: [...said],
      calls: seen(slack),
      shown: slack.posts.map(({ channel, text }) => ({ channel, text })),
    }
  }
  const alone = await run(({ file }, slack) => startPlain(t, slack, plain.file ?? file, plain), plain.port)
  const hosted = await run(({ site }) => site.start())
  return { alone, hosted }
}

/** What an app called, without what is of one run or of the gateway. */
function seen({ calls }: SlackServer) {
  const made = calls.filter(({ method }) => !ASKING.test(method))
  return made.map(({ method, token, args: { token: _, trigger_id: __, metadata, ...args } }) => {
    const read = typeof metadata === 'string' ? parseJson(metadata) : metadata
    const { trivium_key: ___, trivium_part: ____, ...own } = objectAt(read, 'event_payload')
    const isOurs = textAt(read, 'event_type') === 'trivium_reply'
    return { method, token, args, metadata: read && !isOurs ? own : undefined }
  })
}
