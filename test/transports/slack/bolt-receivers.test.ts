// Apps that create their receiver, like Slack's samples for Express, AWS Lambda and custom routes.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { type SlackServer, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { openApp } from './bolt-harness.ts'
import { callback } from './harness.ts'

let slack: SlackServer
beforeEach(async () => {
  slack = await startSlackServer()
})
afterEach(() => slack.close())

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const say = (text: string) => slack.sockets.deliver('events_api', callback({ text, ts: slack.nextTs() }))
const posted = (text: string) => until(() => slack.posts.some((post) => post.text === text), text)
/** Status and body of a GET; undefined if nothing listens. */
const read = async (url: string) => {
  const response = await fetch(url).catch(() => undefined)
  return response && `${response.status} ${await response.text()}`
}

const LISTENER = `
app.message('hi', async ({ say, context }) => { await say('hello ' + (context.team ?? '')) })
`

type Shape = { name: string; source(port: number): string; route?: string; reply: string }

const SHAPES: Shape[] = [
  {
    name: 'an ExpressReceiver with routes, whose signing secret is not set',
    source: (port) => `
const { App, ExpressReceiver } = require('@slack/bolt')
const receiver = new ExpressReceiver({
  signingSecret: process.env.SLACK_SIGNING_SECRET,
  // The headers exist, although there is no HTTP request.
  customPropertiesExtractor: (req) => ({ team: req.body.team_id + (req.headers['x-none'] ?? '') }),
})
receiver.router.get('/health', (_, res) => res.send('well'))
const app = new App({ token: process.env.SLACK_BOT_TOKEN, receiver })
${LISTENER}
;(async () => { await app.start(${port}) })()
`,
    route: '/health',
    reply: 'hello T0TEAM',
  },
  {
    name: 'a SocketModeReceiver with routes, whose app token is not set',
    source: (port) => `
const { App, SocketModeReceiver } = require('@slack/bolt')
const receiver = new SocketModeReceiver({
  appToken: process.env.SLACK_APP_TOKEN,
  installerOptions: { port: ${port} },
  customRoutes: [{ path: '/health', method: ['GET'], handler: (_, res) => res.end('well') }],
  customPropertiesExtractor: ({ body }) => ({ team: body.team_id }),
})
const app = new App({ token: process.env.SLACK_BOT_TOKEN, receiver })
${LISTENER}
;(async () => { await app.start() })()
`,
    route: '/health',
    reply: 'hello T0TEAM',
  },
  {
    name: 'an HTTPReceiver',
    source: (port) => `
const { App, HTTPReceiver } = require('@slack/bolt')
const receiver = new HTTPReceiver({
  signingSecret: process.env.SLACK_SIGNING_SECRET,
  customRoutes: [{ path: '/health', method: ['GET'], handler: (_, res) => res.end('well') }],
})
const app = new App({ token: process.env.SLACK_BOT_TOKEN, receiver })
${LISTENER}
app.start(${port})
`,
    route: '/health',
    reply: 'hello ',
  },
  {
    name: 'customRoutes of the App',
    source: (port) => `
const { App } = require('@slack/bolt')
const customRoutes = [{ path: '/health/:what', method: ['GET'], handler: (req, res) => res.end('well ' + req.params.what) }]
const app = new App({ customRoutes, port: ${port}, signingSecret: 'x', token: process.env.SLACK_BOT_TOKEN })
${LISTENER}
app.start()
`,
    route: '/health/done',
    reply: 'hello ',
  },
  {
    name: 'an AwsLambdaReceiver',
    source: () => `
const { App, AwsLambdaReceiver } = require('@slack/bolt')
const receiver = new AwsLambdaReceiver({ signingSecret: process.env.SLACK_SIGNING_SECRET })
const app = new App({ token: process.env.SLACK_BOT_TOKEN, receiver })
${LISTENER}
module.exports.handler = async (event, context, callback) => {
  const handler = await receiver.start()
  return handler(event, context, callback)
}
`,
    reply: 'hello ',
  },
]

describe('an app that creates its receiver', () => {
  for (const { name, source, route, reply } of SHAPES) {
    test(`receives events, and serves its other routes: ${name}`, async () => {
      const port = await freePort()
      await openApp(slack, source(port)).start()
      await until(() => slack.sockets.open() === 1, 'a socket')
      await say('hi')
      await posted(reply)
      if (route === undefined) return
      const url = `http://127.0.0.1:${port}${route}`
      await until(async () => (await read(url))?.startsWith('200 well') === true, 'its route')
      // Only the gateway has a socket.
      assert.equal(slack.sockets.open(), 1)
    })
  }

  test('keeps its port when it is reloaded after a change', async () => {
    const [{ source }] = SHAPES as [Shape]
    const port = await freePort()
    const site = openApp(slack, source(port))
    await site.start()
    const url = `http://127.0.0.1:${port}/health`
    await until(async () => (await read(url)) === '200 well', 'its route')
    site.write('apps/app.js', source(port).replaceAll('well', 'better'))
    await until(async () => (await read(url)) === '200 better', 'its new route')
  })
})
