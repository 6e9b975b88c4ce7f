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
/**
 * Methods that only read. The gateway calls them more often than Bolt, so that they are not
 * compared.
 */
const READING = /^(auth|apps|users|conversations)\./

/** The author of interactions. */
export const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', name: 'ann', team_id: 'T0TEAM' } }
let serial = 0
export const trigger = () => `trigger.${++serial}`

/** The routes.yaml of a Socket Mode gateway whose events all go to this app. */
export const routesFor = ({ apiUrl }: SlackServer, file: string, more = '') => `
gateways:
  team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${apiUrl}" }
routes:
  - name: app
    match: { gateway: team }
    bolt: ${file}
    retry: { attempts: 4, backoff: fixed, delay: 50ms }
${more}`

/**
 * How Bolt alone runs an app. `port`: it listens there for HTTP; without it, it opens a socket.
 * `runner`: a script that runs it.
 */
export type PlainRun = { file?: string; port?: number; runner?: string; env?: Record<string, string> }

/** Runs an app by Bolt alone. */
async function startPlain(
  t: TestContext,
  { apiUrl, sockets }: SlackServer,
  file: string,
  { port, runner, env: more }: PlainRun,
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

/** Sends a payload by HTTP, as Slack does. */
async function post(port: number, type: string, payload: JsonObject): Promise<Delivered> {
  const form = { slash_commands: payload, interactive: { payload: JSON.stringify(payload) } }[type]
  const body = form
    ? new URLSearchParams(Object.entries(form).map(([k, v]) => [k, String(v)])).toString()
    : JSON.stringify(payload)
  const headers = {
    'content-type': form ? 'application/x-www-form-urlencoded' : 'application/json',
    ...signed(body, SECRET),
  }
  const signal = AbortSignal.timeout(ACK_TIMEOUT)
  const sent = fetch(`http://127.0.0.1:${port}/slack/events`, { method: 'POST', headers, body, signal })
  const response = await sent.catch(() => undefined)
  if (!response?.ok) return { acked: false }
  const text = await response.text()
  const answer = parseJson(text)
  return { acked: true, ms: 0, ...(text !== '' && { payload: isJsonObject(answer) ? answer : { text } }) }
}

/** A site whose routes send all events to an app with this source. */
export function openApp(slack: SlackServer, source: string, file = 'apps/app.js'): Site {
  const site = openSite({ routes: routesFor(slack, `./${file}`) })
  site.write(file, source)
  return site
}

/** Sends a payload. With `call`, it then waits until the app calls that method. */
export type Deliver = (type: string, payload: JsonObject, call?: string) => Promise<void>

/** Time that a busy machine may take to acknowledge (ms). */
const ACK_TIMEOUT = 60_000

/**
 * Uses a CommonJS app, first run by Bolt alone, then by the daemon. Acknowledgements and calls must
 * be the same; resolves with them. `files`: further files of the app, by path. `deliver` fails
 * without an acknowledgement, `send` does not.
 */
export async function compare(
  t: TestContext,
  source: string,
  use: (deliver: Deliver, slack: SlackServer, send: Deliver) => Promise<void>,
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

/** The acknowledgements, calls and posts of an app, run by Bolt alone and by the daemon. */
export async function observe(
  t: TestContext,
  use: (deliver: Deliver, slack: SlackServer, send: Deliver) => Promise<void>,
  open: (slack: SlackServer) => { site: Site; file: string },
  plain: PlainRun = {},
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
    const acks: unknown[] = []
    const countOf = (call: string) => slack.calls.filter(({ method }) => method === call).length
    const isAcked = async (type: string, payload: JsonObject) => {
      const index = acks.push('not acknowledged') - 1
      const sent = port === undefined ? slack.sockets.deliver(type, payload) : post(port, type, payload)
      const delivered = await sent
      const { payload: answer = {} } = delivered.acked ? delivered : {}
      // Bolt may send an empty object instead of nothing.
      if (delivered.acked) acks[index] = Object.keys(answer).length > 0 ? answer : null
      return delivered.acked
    }
    const deliver: Deliver = async (type, payload, call) => {
      const before = call ? countOf(call) : 0
      assert.ok(await isAcked(type, payload), `${type} was not acknowledged`)
      if (call) await until(() => countOf(call) > before, `${call} after ${type}`)
    }
    const send: Deliver = async (type, payload) => void (await isAcked(type, payload))
    await use(deliver, slack, send)
    return {
      acks: [...acks],
      calls: callsOf(slack),
      shown: slack.posts.map(({ channel, text }) => ({ channel, text })),
    }
  }
  const alone = await run(({ file }, slack) => startPlain(t, slack, plain.file ?? file, plain), plain.port)
  const hosted = await run(({ site }) => site.start())
  return { alone, hosted }
}

/** The calls of an app, without fields that differ in each run or that the gateway adds. */
function callsOf({ calls }: SlackServer) {
  const changing = calls.filter(({ method }) => !READING.test(method))
  return changing.map(({ method, token, args: { token: _, trigger_id: __, metadata, ...args } }) => {
    const read = typeof metadata === 'string' ? parseJson(metadata) : metadata
    const { trivium_key: ___, trivium_part: ____, ...own } = objectAt(read, 'event_payload')
    const isOurs = textAt(read, 'event_type') === 'trivium_reply'
    return { method, token, args, metadata: read && !isOurs ? own : undefined }
  })
}
