import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectAt, parseJson } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback } from './harness.ts'

const gateway = (apiUrl: string) =>
  `gateways: { team: { transport: slack, mode: socket, bot-token: xoxb-test, app-token: xapp-test, api-url: "${apiUrl}" } }`

test('a test message has the same data as a mention in Slack, and matches the same routes', async (t) => {
  const slack = await startSlackServer()
  t.after(() => slack.close())
  const site = openSite({
    routes: `${gateway(slack.apiUrl)}
routes:
  - { name: mentions, match: { gateway: team, event: app_mention }, skill: echo }
  - { name: posts, match: { gateway: team, event: message }, skill: echo, args: { text: "a post: {text}" } }`,
  })
  await site.start()
  await until(() => slack.sockets.open() === 1, 'the socket')
  const event = { type: 'app_mention', text: '<@U0BOT> hello', ts: slack.nextTs() }
  await slack.sockets.deliver('events_api', callback(event))
  const dataOf = async (text: string) => {
    const listed = await site.run(['message', 'list', '--text', text, '--gateway', 'team', '--json'])
    const id = /"id": ?"([^"]+)"/.exec(listed.out)?.[1] ?? assert.fail(listed.out + listed.err)
    const shown = await site.run(['message', 'show', id, '--json'])
    return objectAt(objectAt(Object(parseJson(shown.out)), 'message'), 'data')
  }
  await until(
    async () => (await site.run(['message', 'list', '--text', 'hello'])).out.includes('hello'),
    'the message',
  )
  const real = await dataOf('hello')

  assert.match((await site.run(['message', 'team', 'good day'])).out, /You said: good day/)
  const made = await dataOf('good day')
  for (const key of ['event', 'direct', 'mention', 'team', 'teamName'])
    assert.deepEqual([key, made[key]], [key, real[key]])
  const keys = (data: object) => Object.keys(objectAt(Object(data), 'payload.event')).sort()
  assert.deepEqual(
    keys(real).filter((key) => !keys(made).includes(key)),
    [],
  )
  assert.equal(objectAt(made, 'payload.event').text, '<@U0BOT> good day')

  const explain = async (...more: string[]) =>
    (await site.run(['message', 'team', 'hi', '--explain', ...more])).out
  assert.match(await explain(), /^mentions +answers/m)
  assert.match(await explain('--event', 'message'), /^posts +answers/m)
  assert.match(await explain('--data', '{"direct":true}'), /^posts +answers/m)
  assert.doesNotMatch(await explain('--event', 'reaction_added'), /answers/)
})

test('a test message reaches the listeners of a Bolt app, which answer in the given channel', async (t) => {
  const slack = await startSlackServer()
  t.after(() => slack.close())
  const site = openSite({
    ownProcess: true,
    routes: `${gateway(slack.apiUrl)}\nroutes: [{ name: app, match: { gateway: team }, bolt: ./app.cjs }]`,
  })
  site.write(
    'app.cjs',
    `const { App } = require('@slack/bolt')
const app = new App({ token: process.env.SLACK_BOT_TOKEN, appToken: 'xapp-test', socketMode: true })
app.message('hello', async ({ message, say }) => say('heard in ' + message.channel))
app.event('app_mention', async ({ say }) => say('mentioned'))
module.exports = { app }`,
  )
  await site.start()
  await until(() => slack.sockets.open() === 1, 'the socket')
  const channel = JSON.stringify({ channel: 'C0GEN' })
  await site.run(['message', 'team', 'hello', '--data', channel])
  await until(() => slack.posts.some(({ text }) => text === 'heard in C0GEN'), 'the answer of the app')
  await site.run(['message', 'team', 'hello', '--event', 'app_mention', '--data', channel])
  await until(() => slack.posts.some(({ text }) => text === 'mentioned'), 'the answer to a mention')
})
