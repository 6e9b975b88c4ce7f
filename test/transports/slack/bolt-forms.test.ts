// The forms of Bolt apps: each is loaded unchanged, or refused with the reason.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { type AppThread, startAppThread } from '../../../transports/slack/bolt/app-thread.ts'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { createMemoryLog } from '../../runtime/support/log.ts'
import { callback } from './harness.ts'

let slack: SlackServer
let dir: string
let open: AppThread[]
before(async () => {
  slack = await startSlackServer()
})
after(() => slack.close())
beforeEach(() => {
  slack.posts.length = 0
  slack.calls.length = 0
  open = []
  dir = mkdtempSync(join(tmpdir(), 'trivium-bolt-'))
})
afterEach(async () => {
  await Promise.all(open.map((app) => app.terminate()))
  rmSync(dir, { recursive: true, force: true })
})

const write = (files: Record<string, string>) => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true })
    writeFileSync(join(dir, name), content)
  }
}

const exits: string[] = []

async function start(entry: string, files: Record<string, string>): Promise<AppThread> {
  write(files)
  const identity = { token: 'xoxb-test', botId: 'B0BOT', botUserId: 'U0BOT' }
  const app = await startAppThread({
    data: { file: join(dir, entry), apiUrl: slack.apiUrl, identity },
    log: createMemoryLog(),
    authorize: () => Promise.reject(new Error('there is one workspace')),
    exited: (reason) => exits.push(reason),
  })
  open.push(app)
  return app
}

/** Sends a message to the app. Resolves with its posts when its listeners have ended. */
async function postsAfter(app: AppThread, text = 'go'): Promise<string[]> {
  const payload = callback({ text, ts: slack.nextTs() })
  const ack = async () => {}
  await app.process({ payload, urls: [], ack, call: fetch, signal: new AbortController().signal })
  return slack.posts.map((post) => post.text)
}

const OPTIONS = `{ token: 'xoxb-own', appToken: 'xapp-own', socketMode: true, clientOptions: { slackApiUrl: 'http://127.0.0.1:1/' } }`
const HTTP = `{ token: 'xoxb-own', signingSecret: 's' }`
const ON_GO = `app.message('go', ({ say }) => say('heard'))`

describe('a Bolt app is loaded in any form:', () => {
  const forms: Record<string, [entry: string, files: Record<string, string>]> = {
    'an App and an exported handler, as in serverless templates': [
      'index.mjs',
      {
        'index.mjs': `import { App } from '@slack/bolt'
const app = new App(${HTTP})
${ON_GO}
export default async function handler(request, response) { await app.start(); response.end(request.url) }`,
      },
    ],
    'CommonJS with module.exports.handler and an AwsLambdaReceiver': [
      'app.js',
      {
        'app.js': `const { App, AwsLambdaReceiver } = require('@slack/bolt')
const receiver = new AwsLambdaReceiver({ signingSecret: 's' })
const app = new App({ token: 'xoxb-own', receiver })
${ON_GO}
module.exports.handler = async (event, context, callback) => (await receiver.start())(event, context, callback)`,
      },
    ],
    'CommonJS whose module.exports is an Express app': [
      'app.cjs',
      {
        'app.cjs': `const { App, ExpressReceiver } = require('@slack/bolt')
const receiver = new ExpressReceiver({ signingSecret: 's', processBeforeResponse: true })
const app = new App({ token: 'xoxb-own', receiver })
${ON_GO}
module.exports = receiver.app`,
      },
    ],
    'an App that is created after a top-level await': [
      'app.mjs',
      {
        'app.mjs': `import { App } from '@slack/bolt'
await new Promise((resolve) => setTimeout(resolve, 50))
const app = new App(${OPTIONS})
${ON_GO}
await app.start()`,
      },
    ],
    'an App that an async main creates, whose listeners are registered still later': [
      'app.js',
      {
        'app.js': `const { App } = require('@slack/bolt')
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
;(async () => {
  await pause(50)
  const app = new App(${OPTIONS})
  await pause(50)
  ${ON_GO}
  await app.start()
})()`,
      },
    ],
    'an App in a module outside of the folder of its entry': [
      'src/bin/www.mjs',
      {
        'src/bin/www.mjs': `import { app } from '../../lib/app.mjs'\n${ON_GO}\nawait app.start()`,
        'lib/app.mjs': `import bolt from '@slack/bolt'\nexport const app = new bolt.App(${OPTIONS})`,
      },
    ],
    'an App in an installed package': [
      'app.mjs',
      {
        'app.mjs': `import { app } from 'our-bot'\n${ON_GO}\nawait app.start()`,
        'node_modules/our-bot/package.json': `{ "name": "our-bot", "main": "index.js" }`,
        'node_modules/our-bot/index.js': `exports.app = new (require('@slack/bolt').App)(${OPTIONS})`,
        'node_modules/@slack/bolt/package.json': `{ "name": "@slack/bolt", "version": "3.0.0", "main": "index.js" }`,
        'node_modules/@slack/bolt/index.js': `throw new Error('this copy must not be loaded')`,
      },
    ],
    'a SocketModeReceiver that the app creates and starts': [
      'app.js',
      {
        'app.js': `const { App, SocketModeReceiver } = require('@slack/bolt')
const receiver = new SocketModeReceiver({ appToken: 'xapp-own', clientOptions: { slackApiUrl: 'SLACK' } })
const app = new App({ token: 'xoxb-own', receiver })
${ON_GO}
receiver.start().then(() => app.start())`,
      },
    ],
    'an App of a deep import next to one of the package; neither connects by itself': [
      'app.js',
      {
        'app.js': `const { default: App } = require('@slack/bolt/dist/App')
const { App: Known } = require('@slack/bolt')
const app = new Known(${OPTIONS})
new App({ ...${OPTIONS}, tokenVerificationEnabled: false, clientOptions: { slackApiUrl: 'SLACK' } }).start()
${ON_GO}
app.start()`,
      },
    ],
    'an exported function, by default': ['app.mjs', { 'app.mjs': `export default (app) => { ${ON_GO} }` }],
    'an exported function registerListeners, in TypeScript': [
      'app.ts',
      {
        'app.ts': `import type { App } from '@slack/bolt'\nexport function registerListeners(app: App): void { ${ON_GO} }`,
      },
    ],
    'deferred initialization': [
      'app.js',
      {
        'app.js': `const { App } = require('@slack/bolt')
const app = new App({ ...${OPTIONS}, deferInitialization: true })
${ON_GO}
app.init().then(() => app.start())`,
      },
    ],
  }
  for (const [name, [entry, files]] of Object.entries(forms)) {
    test(name, async () => {
      const filled = Object.entries(files).map(([path, code]) => [
        path,
        code.replaceAll('SLACK', slack.apiUrl),
      ])
      assert.deepEqual(await postsAfter(await start(entry, Object.fromEntries(filled))), ['heard'])
      const sockets = slack.calls.filter(({ method }) => method === 'apps.connections.open')
      assert.deepEqual([sockets.length, slack.sockets.opened()], [0, 0])
    })
  }

  test('two Apps in one file both receive messages, and the first acknowledgement counts', async () => {
    const app = await start('app.js', {
      'app.js': `const { App } = require('@slack/bolt')
for (const word of ['one', 'two']) {
  const app = new App(${OPTIONS})
  app.message('go', ({ say }) => say(word))
  app.command('/do', ({ ack }) => ack(word))
  app.start()
}`,
    })
    assert.deepEqual((await postsAfter(app)).sort(), ['one', 'two'])
    const acks: unknown[] = []
    const payload = { command: '/do', text: '', team_id: 'T0TEAM', user_id: 'U1ANN', channel_id: 'C0GEN' }
    const ack = async (response: unknown) => void acks.push(response)
    await app.process({ payload, urls: [], ack, call: fetch, signal: new AbortController().signal })
    assert.deepEqual(acks, ['one'])
  })
})

describe('a file is refused as a Bolt app, with the reason:', () => {
  const refused: Record<string, [reason: RegExp, code: string]> = {
    'two Apps with different tokens': [
      /different values of `token`.*file of its own/,
      `const { App } = require('@slack/bolt')\nfor (const token of ['xoxb-1', 'xoxb-2']) new App({ token, signingSecret: 's' }).message(() => {})`,
    ],
    'no App and no function': [/makes no App with `new App\(\)`/, 'exports.answer = 42'],
    'a function that registers nothing': [
      /registers no listeners on the App/,
      `exports.default = async (request) => request`,
    ],
    'a function that makes an App for each POST request': [
      /registers no listeners on the App.*make one at the top of the file/,
      `const { App } = require('@slack/bolt')
exports.default = (request) => { if (request.method === 'POST') new App(${OPTIONS}) }`,
    ],
    'a function that answers HTTP requests': [
      /Cannot read properties of undefined/,
      `exports.default = (request, response) => { response.end(request.url) }`,
    ],
    'code that throws': [/no such thing/, `throw new Error('no such thing')`],
  }
  for (const [name, [reason, code]] of Object.entries(refused)) {
    test(name, async () => {
      await assert.rejects(start('app.js', { 'app.js': code }), ({ message }: Error) => reason.test(message))
    })
  }
})

describe('the thread of a Bolt app', () => {
  test('ends with its timers and servers', async () => {
    const app = await start('app.mjs', {
      'app.mjs': `import { createServer } from 'node:http'
import { App } from '@slack/bolt'
const app = new App(${HTTP})
${ON_GO}
setInterval(() => void app.client.chat.postMessage({ channel: 'C0GEN', text: 'tick' }), 20)
const server = createServer((_, response) => response.end('here')).listen(0, '127.0.0.1', () => {
  void app.client.chat.postMessage({ channel: 'C0GEN', text: 'port ' + server.address().port })
})`,
    })
    const port = () => slack.posts.find(({ text }) => text.startsWith('port'))?.text.slice(5)
    await until(() => port() !== undefined && slack.posts.some(({ text }) => text === 'tick'), 'ticks')
    assert.equal(await (await fetch(`http://127.0.0.1:${port()}`)).text(), 'here')
    await app.retire()
    const { length } = slack.calls
    await assert.rejects(fetch(`http://127.0.0.1:${port()}`))
    assert.equal(slack.calls.length, length)
  })

  test('contains process.exit, an uncaught error and an endless loop', async () => {
    exits.length = 0
    const source = (code: string) => ({
      'app.js': `const { App } = require('@slack/bolt')
const app = new App(${HTTP})
app.message('go', async ({ say }) => { ${code} })`,
    })
    const exiting = await start('app.js', source('process.exit(3)'))
    await assert.rejects(postsAfter(exiting), /process\.exit\(3\)/)
    const crashing = await start(
      'app.js',
      source(`setTimeout(() => { throw new Error('oh') }); await new Promise(() => {})`),
    )
    await assert.rejects(postsAfter(crashing), /oh/)
    assert.deepEqual(exits, ['it called process.exit(3)', 'oh'])
    const spinning = await start('app.js', source('for (;;);'))
    const spun = postsAfter(spinning)
    await spinning.terminate()
    await assert.rejects(spun, /ended/)
  })
})
