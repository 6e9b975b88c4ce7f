// An app as people have it, first run by Bolt itself, then by the daemon.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { JsonObject } from '../../../src/core/json.ts'
import { openSite, type Site } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback } from './harness.ts'

const MODULES = join(fileURLToPath(new URL('../../..', import.meta.url)), 'node_modules')

/** A to-do list with a modal, a select and a home, in CommonJS, that makes and starts its App itself. */
const TODO = `
const { App } = require('@slack/bolt')
const { registerMessages } = require('./listeners/messages')

const app = new App({
  token: process.env.SLACK_BOT_TOKEN,
  appToken: process.env.SLACK_APP_TOKEN,
  socketMode: true,
  clientOptions: { slackApiUrl: process.env.SLACK_API_URL },
})
registerMessages(app)
app.command('/todo', async ({ command, ack, client }) => {
  await ack(command.text ? 'Noted: ' + command.text : 'What is to be done?')
  const blocks = [{ type: 'input', block_id: 'what', label: { type: 'plain_text', text: 'What' }, element: { type: 'plain_text_input', action_id: 'text' } }]
  if (!command.text) await client.views.open({ trigger_id: command.trigger_id, view: { type: 'modal', callback_id: 'new', title: { type: 'plain_text', text: 'New' }, blocks } })
})
app.view('new', async ({ ack, view, body, client }) => {
  const text = view.state.values.what.text.value
  if (text.length < 3) return ack({ response_action: 'errors', errors: { what: 'too short' } })
  await ack()
  await client.chat.postMessage({ channel: body.user.id, text: 'To do: ' + text })
})
app.options('who', async ({ options, ack }) => {
  await ack({ options: [{ text: { type: 'plain_text', text: options.value + '!' }, value: options.value }] })
})
app.action('done', async ({ ack, respond, say, action }) => {
  await ack()
  await respond('Done: ' + action.value)
  await say('It is done')
})
app.event('app_home_opened', async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [] } })
})
app.start()
`

const MESSAGES = `
exports.registerMessages = (app) => {
  app.message(/^todo (.+)/, async ({ say, context, message }) => {
    await say({ text: 'Noted ' + context.matches[1], thread_ts: message.ts })
  })
}
`

let slack: SlackServer
beforeEach(async () => {
  slack = await startSlackServer()
})
afterEach(() => slack.close())

const routesFor = (file: string, more = '') => `
gateways:
  team: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
routes:
  - name: app
    match: { gateway: team }
    bolt: ${file}
    retry: { attempts: 4, backoff: fixed, delay: 50ms }
${more}`

const who = { team: { id: 'T0TEAM' }, user: { id: 'U1ANN', name: 'ann', team_id: 'T0TEAM' } }
let serial = 0
const trigger = () => `trigger.${++serial}`

const submission = (value: string): JsonObject => ({
  ...{ type: 'view_submission', trigger_id: trigger(), ...who },
  view: {
    id: 'V1',
    hash: 'h',
    type: 'modal',
    callback_id: 'new',
    state: { values: { what: { text: { type: 'plain_text_input', value } } } },
  },
})

/** What somebody does in Slack, and what Slack sees of the app for it: what acknowledgements say, and calls. */
async function useApp() {
  const said: unknown[] = []
  const deliver = async (type: string, payload: JsonObject) => {
    const delivered = await slack.sockets.deliver(type, payload)
    assert.ok(delivered.acked, `${type} was not acknowledged`)
    // Bolt says nothing in an empty object.
    said.push(Object.keys(delivered.payload ?? {}).length > 0 ? delivered.payload : null)
  }
  const command = (text: string) => ({
    command: '/todo',
    text,
    trigger_id: trigger(),
    ...{
      team_id: 'T0TEAM',
      user_id: 'U1ANN',
      user_name: 'ann',
      channel_id: 'C0GEN',
      response_url: slack.apiUrl.replace('/api/', '/respond/1'),
    },
  })
  const calls = (method: string) => slack.calls.filter((call) => call.method === method)
  await deliver('events_api', callback({ text: 'todo milk', ts: slack.nextTs() }))
  await deliver('events_api', callback({ text: 'nothing for it', ts: slack.nextTs() }))
  await until(() => slack.posts.length === 1, 'an answer')
  await deliver('slash_commands', command('bread'))
  await deliver('slash_commands', command(''))
  await until(() => calls('views.open').length === 1, 'a modal')
  await deliver('interactive', submission('x'))
  await deliver('interactive', submission('butter'))
  await until(() => slack.posts.length === 2, 'what was submitted')
  await deliver('interactive', {
    type: 'block_suggestion',
    ...who,
    action_id: 'who',
    block_id: 'b',
    value: 'ann',
    api_app_id: 'A0APP',
    container: {},
    channel: { id: 'C0GEN' },
  })
  await deliver('interactive', {
    ...{ type: 'block_actions', trigger_id: trigger(), ...who, channel: { id: 'C0GEN', name: 'general' } },
    ...{
      response_url: slack.apiUrl.replace('/api/', '/respond/2'),
      actions: [{ type: 'button', action_id: 'done', block_id: 'b', value: 'milk', action_ts: '1' }],
    },
  })
  await until(() => slack.posts.length === 3, 'what was clicked')
  await deliver(
    'events_api',
    callback({ type: 'app_home_opened', user: 'U1ANN', channel: 'D1ANN', tab: 'home' }),
  )
  await until(() => calls('views.publish').length === 1, 'a home')
  const shown = slack.posts.map(({ channel, text, thread_ts }) => ({
    channel,
    text,
    isThread: Boolean(thread_ts),
  }))
  return { said, shown, responses: calls('response_url').map(({ args }) => args), reactions: slack.reactions }
}

/** Runs the app by Bolt alone. */
async function startPlain(t: TestContext, { dir }: Site): Promise<void> {
  const env = {
    ...process.env,
    NODE_PATH: MODULES,
    SLACK_BOT_TOKEN: 'xoxb-test',
    SLACK_APP_TOKEN: 'xapp-test',
    SLACK_API_URL: slack.apiUrl,
  }
  const child = spawn(process.execPath, [join(dir, 'apps/todo/app.js')], { env, stdio: 'ignore' })
  t.after(() => child.kill('SIGKILL'))
  await until(() => slack.sockets.open() === 1, 'the socket of plain Bolt', 30_000)
}

function openApp(source: string, file = 'apps/todo/app.js'): Site {
  const site = openSite({ routes: routesFor(`./${file}`) })
  site.write(file, source)
  return site
}

describe('a Bolt app', () => {
  test('runs as it does by Bolt alone: messages, commands, modals, selects, buttons, its home', async (t) => {
    const site = openApp(TODO)
    site.write('apps/todo/listeners/messages.js', MESSAGES)
    await startPlain(t, site)
    const alone = await useApp()
    await slack.close()
    slack = await startSlackServer()
    site.write('routes.yaml', routesFor('./apps/todo/app.js'))
    await site.start()
    const hosted = await useApp()
    assert.deepEqual(hosted, alone)
    assert.deepEqual(hosted.said[4], { response_action: 'errors', errors: { what: 'too short' } })
  })

  test('that throws twice posts once, and is loaded anew when it is saved', async () => {
    const app = (word: string) => `
let runs = 0
export default (app: import('@slack/bolt').App) => {
  app.message('go', async ({ say }) => {
    await say('${word}')
    if (++runs < 3) throw new Error('not yet')
    await say('${word} again')
  })
}
`
    const site = openApp(app('first'), 'apps/go.ts')
    await site.start()
    await slack.sockets.deliver('events_api', callback({ text: 'go', ts: slack.nextTs() }))
    await until(() => slack.posts.length === 2, 'both posts')
    site.write('apps/go.ts', 'export default nonsense(')
    await until(
      async () => JSON.stringify((await site.run(['status', '--json'])).out).includes('cannot be loaded'),
      'a fault in the status',
    )
    await slack.sockets.deliver('events_api', callback({ text: 'go', ts: slack.nextTs() }))
    await until(() => slack.posts.length === 4, 'the last good version')
    site.write('apps/go.ts', app('second'))
    await until(async () => {
      await slack.sockets.deliver('events_api', callback({ text: 'go', ts: slack.nextTs() }))
      return slack.posts.some(({ text }) => text === 'second again')
    }, 'the new version')
    const texts = slack.posts.map(({ text }) => text)
    assert.deepEqual(texts.slice(0, 4), ['first', 'first again', 'first', 'first again'])
  })

  test('that is killed between a post and its answer does not post again, and goes on', async () => {
    const source = `
module.exports.registerListeners = (app) => {
  app.message('go', async ({ say, client, message }) => {
    await client.reactions.add({ channel: message.channel, timestamp: message.ts, name: 'eyes' })
    await say('one')
    await say('two')
  })
}
`
    const site = openApp(source)
    const daemon = await site.start()
    const answered = slack.hold('chat.postMessage')
    await slack.sockets.deliver('events_api', callback({ text: 'go', ts: slack.nextTs() }))
    await until(() => slack.posts.length === 1, 'the first post')
    await daemon.end('SIGKILL')
    answered()
    await site.start()
    await until(() => slack.posts.length === 2, 'the second post', 30_000)
    assert.deepEqual([slack.posts.map(({ text }) => text), slack.reactions.length], [['one', 'two'], 1])
  })

  test('that posts over the limit, and whose answers are lost, posts each once, in the run and in the next', async () => {
    const site = openApp(
      `
let runs = 0
export default (app) => {
  app.message('go', async ({ say, respond }) => {
    await Promise.all(['one', 'two'].map((text) => say(text)))
    if (++runs === 1) throw new Error('not yet')
    await say('three')
  })
}
`,
      'apps/go.mjs',
    )
    await site.start()
    const limit = { status: 429, headers: { 'retry-after': '1' } }
    slack.fail('chat.postMessage', limit, limit, { apply: true, hangUp: true }, { apply: true, status: 500 })
    await slack.sockets.deliver('events_api', callback({ text: 'go', ts: slack.nextTs() }))
    await until(() => slack.posts.some(({ text }) => text === 'three'), 'the last post', 30_000)
    assert.deepEqual(slack.posts.map(({ text }) => text).sort(), ['one', 'three', 'two'])
  })

  test('in the root of its project keeps its state while it writes data there, and posts by timers, but not late', async () => {
    const app = `
import bolt, { Assistant, LogLevel } from '@slack/bolt'
import { loaded } from 'counts'
import { writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const app = new bolt.App({ token: 'xoxb-own', signingSecret: 's', logLevel: LogLevel.DEBUG })
app.assistant(new Assistant({ threadStarted: async () => {}, userMessage: async () => {} }))
let seen = 0
app.message('count', async ({ say }) => {
  writeFileSync(new URL('todo.json', import.meta.url), String(++seen))
  await say(seen + ' of ' + loaded())
  setTimeout(() => void say('by timer'), 1500)
})
app.message('slow', async ({ say }) => {
  await pause(1500)
  await say('late')
})
await app.start(process.env.PORT || 3000)
`
    const site = openApp(app, 'app.mjs')
    site.write('routes.yaml', routesFor('./app.mjs', '    timeout: 1s'))
    site.write('node_modules/counts/package.json', '{ "name": "counts", "main": "index.js" }')
    site.write('node_modules/counts/index.js', 'let n = 0; exports.loaded = () => ++n')
    await site.start()
    const go = (text: string) => slack.sockets.deliver('events_api', callback({ text, ts: slack.nextTs() }))
    await go('slow')
    for (const count of [1, 2, 3]) {
      await go('count')
      await until(() => slack.posts.some(({ text }) => text === `${count} of ${count}`), `count ${count}`)
    }
    await until(() => slack.posts.filter(({ text }) => text === 'by timer').length === 3, 'posts by timers')
    await until(
      async () => {
        const { out } = await site.run(['dead-letters', 'list', '--json'])
        return out.includes('listener_failed')
      },
      'a dead letter',
      30_000,
    )
    assert.ok(!slack.posts.some(({ text }) => text === 'late'))
  })

  test('is loaded for its own gateway alone, and is no fault once no route names it', async () => {
    const site = openSite({ routes: '' })
    const routes = (more: string) => `
gateways:
  one: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
  two: { transport: slack, mode: socket, botToken: xoxb-test, appToken: xapp-test, apiUrl: "${slack.apiUrl}" }
routes:
  - { name: good, match: { gateway: one }, bolt: ./good/app.cjs }
${more}`
    const app = (word: string) =>
      `console.log('loaded ${word}'); exports.registerListeners = (app) => app.message('go', ({ say }) => say('${word}'))`
    site.write('good/app.cjs', app('good'))
    site.write('bad/app.cjs', 'nonsense(')
    site.write('routes.yaml', routes('  - { name: bad, match: { gateway: two }, bolt: ./bad/app.cjs }'))
    const daemon = await site.start()
    const status = async () => JSON.stringify((await site.run(['status', '--json'])).out)
    await until(async () => (await status()).includes('cannot be loaded'), 'a fault')
    assert.equal(daemon.output().split('loaded good').length, 2)
    site.write('routes.yaml', routes(''))
    await until(async () => !(await status()).includes('cannot be loaded'), 'no fault')
    site.write('good/app.cjs', app('better'))
    await until(() => daemon.output().includes('loaded better'), 'the saved version')
  })

  test('that is not there is an error of the configuration, with its place', async () => {
    const site = openSite({ routes: routesFor('./apps/none.ts') })
    const { code, out, err } = await site.run(['routes', 'check'])
    assert.equal(code, 2)
    assert.match(out + err, /routes\.yaml:7:11.*there is no file .*none\.ts/)
  })
})
