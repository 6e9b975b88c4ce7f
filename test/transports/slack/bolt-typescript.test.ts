// A TypeScript project that people compile before they run it, run without compiling.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openSite } from '../../fixtures/daemon.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { routesFor } from './bolt-harness.ts'
import { buttonClick, callback, slashCommand } from './harness.ts'

const slack = await startSlackServer()
after(() => slack.close())

const FILES: Record<string, string> = {
  'bot/package.json':
    '{ "name": "bot", "version": "4.5.6", "scripts": { "start": "tsc && node dist/app.js" } }',
  'bot/.env': 'SLACK_BOT_TOKEN=xoxb-own\nGREETING="Hello # there"\nHOME=elsewhere\n',
  // With comments and a trailing comma, as tsc --init writes it.
  'bot/tsconfig.json': `{
  /* as tsc --init writes it */
  "compilerOptions": {
    "target": "es2022", "module": "commonjs", "esModuleInterop": true, "resolveJsonModule": true,
    "baseUrl": ".", // for the paths
    "paths": { "@/*": ["src/*"], "config": ["src/config/settings"] },
  },
}`,
  'bot/src/app.ts': `
import { App, LogLevel, SlackEventMiddlewareArgs, AllMiddlewareArgs } from '@slack/bolt'
import registerListeners from './listeners'
import { Mood } from '@/mood.js'
import { settings } from 'config'
import { version } from '../package.json'
import path = require('node:path')

type Args = AllMiddlewareArgs & SlackEventMiddlewareArgs<'message'>
const app = new App({ token: process.env.SLACK_BOT_TOKEN, signingSecret: 'x', logLevel: LogLevel.INFO })
registerListeners(app)
app.message('mood', async ({ say }: Args) => {
  await say([Mood[Mood.Fine], settings.greeting, version, path.basename(__dirname), process.env.HOME !== 'elsewhere'].join(', '))
})
app.command('/known', async ({ ack }) => { await ack('yes') })
;(async () => { await app.start(process.env.PORT || 3000) })()
`.replace("import path = require('node:path')", "import * as path from 'path'"),
  'bot/src/listeners/index.ts': `
import type { App } from '@slack/bolt'
import { Counter } from './counter.js'
const register = (app: App): void => {
  const counter = new Counter('posts')
  app.message('count', async ({ say, logger }) => {
    logger.info({ counted: { deep: counter.next() } })
    await say(counter.describe())
  })
}
export default register
`,
  'bot/src/listeners/counter.ts': `
export class Counter {
  private count = 0
  constructor(private readonly name: string) {}
  next(): number { return ++this.count }
  describe(): string { return \`\${this.count} \${this.name}\` }
}
`,
  'bot/src/mood.ts': 'export enum Mood { Bad, Fine = 7 }\n',
  'bot/src/config/settings.ts': `
namespace Defaults { export const greeting = 'none' }
export const settings = { greeting: process.env.GREETING ?? Defaults.greeting }
`,
}

const site = openSite({ ownProcess: true, routes: routesFor(slack, './bot/src/app.ts') })
for (const [path, content] of Object.entries(FILES)) site.write(path, content)
const daemon = await site.start()
await until(() => slack.sockets.open() === 1, 'a socket')

const say = (text: string) => slack.sockets.deliver('events_api', callback({ text, ts: slack.nextTs() }))
const posted = (text: string) => until(() => slack.posts.some((post) => post.text === text), text)

describe('a TypeScript app', () => {
  test('runs with enums, namespaces, parameter properties, imports of types, folders, .js for .ts, paths, JSON and its .env', async () => {
    await say('mood')
    await posted('Fine, Hello # there, 4.5.6, src, true')
    await say('count')
    await posted('1 posts')
  })

  test('logs objects as objects', async () => {
    await until(() => /counted.*deep.*1/.test(daemon.output()), 'the line')
  })

  test('that cannot be compiled is reported in the status, with the file and advice', async () => {
    site.write(
      'bad/app.ts',
      'class A { @deco() x = 1 }\nfunction deco() { return (_: any, __: string) => {} }\nexport default () => {}',
    )
    site.write('routes.yaml', routesFor(slack, './bad/app.ts'))
    const isFaulty = async () => (await site.run(['status', '--json'])).out.includes('cannot be loaded')
    await until(() => daemon.output().includes('is reloaded'), 'the route')
    await say('count')
    await until(isFaulty, 'a fault')
    const { out } = await site.run(['status', '--json'])
    assert.match(out, /bad\/app\.ts.*npx tsc/)
    site.write('routes.yaml', routesFor(slack, './bot/src/app.ts'))
    await until(async () => !(await isFaulty()), 'no fault')
    const before = slack.posts.length
    await say('count')
    await until(() => slack.posts.length > before, 'a post')
  })
})

/** Time in which Slack expects an acknowledgement (ms). */
const ACK_LIMIT = 3_000

describe('a command or click without a listener', () => {
  test('is not acknowledged, so that Slack shows its own error, while others are', async () => {
    const known = await slack.sockets.deliver('slash_commands', slashCommand(slack, { command: '/known' }))
    assert.deepEqual(known.acked && known.payload, { text: 'yes' })
    const within = ACK_LIMIT
    const unknown = slack.sockets.deliver('slash_commands', slashCommand(slack, { command: '/unknown' }), {
      within,
    })
    const click = slack.sockets.deliver('interactive', buttonClick(), { within })
    assert.deepEqual([(await unknown).acked, (await click).acked], [false, false])
  })
})
