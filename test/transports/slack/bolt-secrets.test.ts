// Output and errors of an app go to the log, dead letters and the status, without secrets.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { withoutTokens } from '../../../transports/slack/bolt/secrets.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { routesFor } from './bolt-harness.ts'
import { callback } from './harness.ts'

const BOT = 'xoxb-1111-2222-AbCdEfGhIjKl'
const OTHERS = ['xoxe.xoxp-1-Mi0yLTEyMzQ1', 'xapp-1-A111-222-abcdef', 'xoxp-9-8-7-abcdef']
const PAIR = Buffer.from('me:a-password-of-mine').toString('base64')
const SIGNING = '8f742231b10e8888abcd99yyyzzz85a5'

const APP = `
const { App } = require('@slack/bolt')
const app = new App({ token: process.env.SLACK_BOT_TOKEN, signingSecret: process.env.SLACK_SIGNING_SECRET })
app.message('leak', async ({ context, logger, client }) => {
  logger.info('context', { ...context, others: ${JSON.stringify(OTHERS)}, hook: 'https://hooks.slack.com/services/T0/B0/abcdef' })
  logger.error(new Error('signing with ' + process.env.SLACK_SIGNING_SECRET))
  const cause = new Error('authorization: Bearer ${BOT}')
  throw new Error('request failed: {"headers":{"Authorization":"Bearer ' + process.env.SLACK_BOT_TOKEN + '"}}', { cause })
})
app.message('print', async ({ client, context }) => {
  console.log('printed', { botToken: process.env.SLACK_BOT_TOKEN, headers: { authorization: 'Bearer ' + process.env.SLACK_BOT_TOKEN } }, context)
  console.error(new Error('printed', { cause: new Error(process.env.SLACK_SIGNING_SECRET) }), client)
  process.stdout.write(Buffer.from('bytes ' + process.env.SLACK_SIGNING_SECRET + '\\n'))
  await new Promise((resolve) => process.stderr.write('waited for ${OTHERS[0]}\\n', resolve))
  throw new Error('Authorization: Basic ${PAIR} of a proxy')
})
app.message('reject', async () => { Promise.reject(new Error('later, with ${OTHERS[1]}')) })
app.message('crash', async () => { setTimeout(() => { throw new Error('crashed with ${BOT}') }, 1) })
app.start()
`

const slack = await startSlackServer()
after(() => slack.close())

test('the logs, errors and crashes of an app show no token and no secret of its environment', async () => {
  const site = openSite({
    ownProcess: true,
    routes: routesFor(slack, './bot/app.js').replace('attempts: 4', 'attempts: 2'),
  })
  site.write('bot/package.json', '{ "name": "bot" }')
  site.write('bot/.env', `SLACK_BOT_TOKEN=${BOT}\nSLACK_SIGNING_SECRET=${SIGNING}\n`)
  site.write('bot/app.js', APP)
  const daemon = await site.start()
  await until(() => slack.sockets.open() === 1, 'a socket')
  const say = (text: string) => slack.sockets.deliver('events_api', callback({ text, ts: slack.nextTs() }))
  await say('leak')
  const dead = async () => (await site.run(['dead-letters', 'list', '--json'])).out
  await until(async () => (await dead()).includes('listener_failed'), 'a dead letter')
  await say('print')
  await until(() => daemon.output().includes('waited for'), 'its output')
  await until(async () => (await dead()).includes('of a proxy'), 'a second dead letter')
  assert.match(daemon.output(), /bytes \[secret\]/)
  await say('reject')
  await until(() => daemon.output().includes('later, with'), 'the rejection')
  await say('crash')
  await until(() => daemon.output().includes('crashed with'), 'the crash')
  const [, messageId = ''] = /"id": ?"([^"]+)"/.exec(await dead()) ?? []
  assert.notEqual(messageId, '', await dead())
  const shown = await Promise.all([
    dead(),
    site.run(['status', '--json']).then(({ out }) => out),
    site.run(['message', 'show', messageId]).then(({ out }) => out),
  ])
  assert.match(shown[2] ?? '', /listener_failed|request failed/)
  const all = [daemon.output(), ...shown].join('\n')
  assert.match(all, /request failed.*xoxb-\[secret\]|Bearer \[secret\]/)
  for (const secret of [BOT, SIGNING, PAIR, ...OTHERS, 'services/T0/B0'])
    assert.ok(!all.includes(secret), secret)
})

test('text that only resembles a token stays', () => {
  for (const text of ['the xoxb- prefix', 'bearer of news', 'https://hooks.slack.com/', 'xoxo-love'])
    assert.equal(withoutTokens(text), text)
})
