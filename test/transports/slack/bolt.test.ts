// A typical app, first run by Bolt alone, then by the daemon.
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { JsonObject } from '../../../src/core/json.ts'
import { completeMessage } from '../../../src/core/message.ts'
import { slack as kind } from '../../../transports/slack/index.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { until } from '../../fixtures/until.ts'
import { compare, type Deliver, openApp, routesFor as routesOf } from './bolt-harness.ts'
import { buttonClick, callback, interactionOf, slashCommand, socketOptions } from './harness.ts'

/**
 * A to-do list with a modal, a select and a home tab, in CommonJS, that creates and starts its App.
 */
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

const routesFor = (file: string, more = '') => routesOf(slack, file, more)

const deliver = async (type: string, payload: JsonObject) => {
  const delivered = await slack.sockets.deliver(type, payload)
  assert.ok(delivered.acked, `${type} was not acknowledged`)
  // Bolt may send an empty object instead of nothing.
  return Object.keys(delivered.payload ?? {}).length > 0 ? delivered.payload : null
}
const say = (text: string) => deliver('events_api', callback({ text, ts: slack.nextTs() }))
const posted = (text: string) => until(() => slack.posts.some((post) => post.text === text), text)
const texts = () => slack.posts.map(({ text }) => text)

describe('a Bolt app', () => {
  test('behaves as with Bolt alone: messages, commands, modals, selects, buttons, its home tab', async (t) => {
    const use = async (deliver: Deliver, slack: SlackServer) => {
      const say = (text: string, call?: string) =>
        deliver('events_api', callback({ text, ts: slack.nextTs() }), call)
      const type = (text: string, call?: string) =>
        deliver('slash_commands', slashCommand(slack, { command: '/todo', text }), call)
      const submit = (value: string, call?: string) => {
        const state = { values: { what: { text: { type: 'plain_text_input', value } } } }
        const view = { id: 'V1', hash: 'h', type: 'modal', callback_id: 'new', state }
        return deliver('interactive', interactionOf({ type: 'view_submission', view }), call)
      }
      await say('todo milk', 'chat.postMessage')
      await say('nothing for it')
      await type('bread')
      await type('', 'views.open')
      await submit('x')
      await submit('butter', 'chat.postMessage')
      const select = {
        type: 'block_suggestion',
        action_id: 'who',
        block_id: 'b',
        value: 'ann',
        container: {},
      }
      await deliver('interactive', interactionOf(select))
      const response_url = slack.apiUrl.replace('/api/', '/respond/click')
      const actions = [{ type: 'button', action_id: 'done', block_id: 'b', value: 'milk', action_ts: '1' }]
      await deliver('interactive', buttonClick({ response_url, actions }), 'chat.postMessage')
      const home = { type: 'app_home_opened', user: 'U1ANN', channel: 'D1ANN', tab: 'home' }
      await deliver('events_api', callback(home), 'views.publish')
    }
    const { acks } = await compare(t, TODO, use, { 'apps/listeners/messages.js': MESSAGES })
    assert.deepEqual(acks[4], { response_action: 'errors', errors: { what: 'too short' } })
  })

  test('says that no listener matched, unlike a listener that posted and middleware that ended it', async () => {
    const site = openApp(
      slack,
      `
module.exports.registerListeners = (app) => {
  app.use(async ({ message, next }) => message?.text === 'drop' ? undefined : next())
  app.message(/^todo/, async ({ say }) => void (await say('noted')))
}
`,
    )
    await site.start()
    const shown = async (text: string) => {
      const args = ['message', 'team', text, '--event', 'message', '--data', '{"channel":"C0123"}']
      return (await site.run(args)).out
    }
    assert.match(
      await shown('standup'),
      /The skill ran and sent no reply: no listener of the Bolt app matched\./,
    )
    for (const text of ['todo milk', 'drop'])
      assert.match(await shown(text), /The skill ran and sent no reply\./, text)
    assert.ok(texts().includes('noted'))
  })

  test('continues without a second post if it is killed between a post and its answer', async () => {
    const site = openApp(
      slack,
      `
module.exports.registerListeners = (app) => {
  app.message('go', async ({ say, client, message }) => {
    await client.reactions.add({ channel: message.channel, timestamp: message.ts, name: 'eyes' })
    await say('one')
    await say('one')
    await say('two')
  })
}
`,
    )
    const daemon = await site.spawn()
    const release = slack.hold('chat.postMessage')
    await say('go')
    await posted('one')
    await daemon.end('SIGKILL')
    release()
    await site.start()
    await posted('two')
    assert.deepEqual([texts(), slack.reactions.length], [['one', 'one', 'two'], 1])
  })

  test('posts each text once, with its own answer, despite errors, rate limits, lost answers and another order', async () => {
    const app = `
let runs = 0
export default (app: import('@slack/bolt').App) => {
  app.message('go', async ({ say }) => {
    const words = ++runs % 2 ? ['one', 'two'] : ['two', 'one']
    const posts = await Promise.all(words.map(async (text) => [text, (await say(text)).ts]))
    if (runs === 1) throw new Error('not yet')
    await say('two is ' + Object.fromEntries(posts).two)
    if (runs === 2) throw new Error('not yet')
    await say('three')
  })
}
`
    const site = openApp(slack, app, 'apps/go.ts')
    await site.start()
    const limit = { status: 429, headers: { 'retry-after': '1' } }
    slack.answerNext('chat.postMessage', limit, { apply: true, hangUp: true }, limit, {
      apply: true,
      status: 500,
    })
    await say('go')
    await posted('three')
    const two = slack.posts.find(({ text }) => text === 'two')
    assert.deepEqual(texts().sort(), ['one', 'three', 'two', `two is ${two?.ts}`])
  })

  test('repeats a refused post, and no other, when its listener is run again', async () => {
    const app = `
let runs = 0
export default (app) => app.message('go', async ({ say }) => {
  await say('refused').catch(() => {})
  await say('taken')
  if (++runs === 1) throw new Error('not yet')
  await say('end')
})
`
    const site = openApp(slack, app, 'apps/app.mjs')
    await site.start()
    slack.answerNext('chat.postMessage', { body: { ok: false, error: 'restricted_action' } })
    await say('go')
    await posted('end')
    assert.deepEqual(texts(), ['taken', 'refused', 'end'])
  })

  test('that never finishes loading fails its messages after the timeout of the route', async () => {
    const fixture = await startTransportFixture()
    const file = join(fixture.dir, 'app.mjs')
    writeFileSync(file, 'await new Promise((resolve) => setTimeout(resolve, 60_000))')
    const { runListeners, close } = await kind.create(socketOptions(slack), fixture.deps)
    const fields = { gateway: 'test', transport: 'slack', from: { id: 'U1', address: 'U1', verified: true } }
    const message = completeMessage(
      { id: 'M1', gateway: 'test', receivedAt: 0 },
      { ...fields, to: 'C1', text: '', data: { payload: callback({}) } },
    )
    const { signal } = new AbortController()
    await assert.rejects(
      runListeners?.(file, { message, route: 'app', signal, timeout: 50 }) ?? Promise.resolve(),
      {
        code: 'listener_failed',
      },
    )
    await close?.()
    await fixture.close()
  })

  test('in the root of its project keeps its state while it writes files there, and posts by timers, but not after a timeout', async () => {
    const app = `
import bolt, { Assistant, LogLevel } from '@slack/bolt'
import { loaded } from 'counts'
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const file = (name) => new URL(name, import.meta.url)
const isThere = async (name) => {
  while (!existsSync(file(name))) await pause(10)
}
const app = new bolt.App({ token: 'xoxb-own', signingSecret: 's', logLevel: LogLevel.DEBUG })
app.assistant(new Assistant({ threadStarted: async () => {}, userMessage: async () => {} }))
let seen = 0
app.message('count', async ({ say }) => {
  writeFileSync(file('todo.json'), String(++seen))
  await say(seen + ' of ' + loaded())
  setTimeout(() => void say('by timer'), 1500)
})
app.message('slow', async ({ say }) => {
  await isThere('ended.json')
  const late = say('late')
  writeFileSync(file('tried.json'), '1')
  await late
})
app.command('/slow', async ({ ack }) => {
  await isThere('acknowledged.json')
  await ack('at last')
})
await app.start(process.env.PORT || 3000)
`
    const site = openApp(slack, app, 'app.mjs')
    const slow = `  - name: slow
    match: { gateway: team, event: message, text: slow }
    bolt: ./app.mjs
    timeout: 1s
    retry: { attempts: 2, backoff: fixed, delay: 50ms }`
    const routes = routesFor('./app.mjs', '  - { name: typed, match: {}, bolt: ./app.mjs }')
      .replace('routes:\n', `routes:\n${slow}\n`)
      .replace('{ gateway: team }', '{ gateway: team, event: message }')
    site.write('routes.yaml', routes)
    site.write('node_modules/counts/package.json', '{ "name": "counts", "main": "index.js" }')
    site.write('node_modules/counts/index.js', 'let n = 0; exports.loaded = () => ++n')
    await site.start()
    for (const count of [1, 2, 3]) {
      await say('count')
      await posted(`${count} of ${count}`)
    }
    await until(() => texts().filter((text) => text === 'by timer').length === 3, 'posts by timers')
    assert.equal(await deliver('slash_commands', slashCommand(slack, { command: '/slow' })), null)
    site.write('acknowledged.json', '1')
    await until(
      () => slack.calls.some(({ args }) => args.text === 'at last'),
      'the answer that was too late for the ack',
    )
    await say('slow')
    const dead = async () =>
      (await site.run(['dead-letters', 'list', '--json'])).out.includes('listener_failed')
    await until(dead, 'a dead letter')
    site.write('ended.json', '1')
    await until(() => existsSync(join(site.dir, 'tried.json')), 'the late post')
    // The late post, if it were sent, would be before this one.
    await say('count')
    await posted('4 of 4')
    assert.ok(!texts().includes('late'))
  })

  test('answers only its gateway, is reloaded when it is saved, and keeps its last good version', async () => {
    const gateway = `{ transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${slack.apiUrl}" }`
    const routes = (more: string) => `
gateways: { one: ${gateway}, two: ${gateway} }
routes:
  - { name: good, match: { gateway: one }, bolt: ./good/app.cjs }
${more}`
    const app = (word: string) =>
      `console.log('loaded ${word}'); exports.registerListeners = (app) => app.message('go', ({ say }) => say('${word}'))`
    const site = openSite({ ownProcess: true, routes: '' })
    site.write('good/app.cjs', "module.exports = require('./listeners.cjs')")
    site.write('good/listeners.cjs', app('good'))
    site.write('bad/app.cjs', 'nonsense(')
    site.write('routes.yaml', routes('  - { name: bad, match: { gateway: two }, bolt: ./bad/app.cjs }'))
    const daemon = await site.start()
    const isFaulty = async () => (await site.run(['status', '--json'])).out.includes('cannot be loaded')
    await until(isFaulty, 'a fault')
    await until(() => daemon.output().includes('loaded good'), 'the app')
    assert.equal(daemon.output().split('loaded good').length, 2)
    site.write('routes.yaml', routes(''))
    await until(async () => !(await isFaulty()), 'no fault after its route was removed')
    site.write('good/listeners.cjs', app('better'))
    await until(() => daemon.output().includes('loaded better'), 'the saved version')
    site.write('good/listeners.cjs', 'nonsense(')
    await until(isFaulty, 'a fault again')
    // Slack delivers to both gateways alternately, and only one has a route for it.
    await say('go')
    await say('go')
    await posted('better')
  })
})
