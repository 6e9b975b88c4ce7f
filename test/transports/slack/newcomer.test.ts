// The first page of docs/slack.md, followed step by step against a Slack of our own.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { parse } from 'yaml'
import type { JsonObject } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { type Posted, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { callback, clicked, done, typed } from './harness.ts'

const page = readFileSync(new URL('../../../docs/slack.md', import.meta.url), 'utf8')
const manifest = parse(readFileSync(new URL('../../../ops/slack-manifest.yaml', import.meta.url), 'utf8'))

/** The code of one language below a heading, in order, without the indent of a list. */
function codeBelow(heading: string, language: string): string[] {
  const [, section = ''] = page.split(`\n${heading}\n`)
  const [own = ''] = section.split(/\n##+ /)
  const found = own.matchAll(new RegExp(`^( *)\`\`\`${language}\n([\\s\\S]*?)^ *\`\`\``, 'gm'))
  return Array.from(found, ([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  )
}

const START = '## From nothing to an answer with buttons'
const slack = await startSlackServer()
after(() => slack.close())
const [routes = ''] = codeBelow(START, 'yaml')
const [lunch = ''] = codeBelow(START, 'ts')
const [env = ''] = codeBelow(START, 'dotenv')
const [deploy = ''] = codeBelow('### With an approval', 'ts')
const [deployRoute = ''] = codeBelow('### With an approval', 'yaml')
const [modelRoutes = ''] = codeBelow('### With a model', 'yaml')

/** At the place that the page says: new routes come first. */
const withRoutes = (more: string) => routes.replace('routes:\n', more.slice(more.indexOf('routes:')))
const here = (text: string) =>
  text.replace('transport: slack\n', `transport: slack\n    api-url: "${slack.apiUrl}"\n`)

const site = openSite({ routes: here(routes) })
site.write('.env', env.replace('xoxb-…', 'xoxb-test').replace('xapp-…', 'xapp-test'))
site.write('skills/lunch/index.ts', lunch)
site.write('skills/deploy/index.ts', deploy)
const daemon = await site.start()
await until(() => slack.sockets.open() === 1, 'a socket')

const blocksOf = (post?: Posted) => JSON.stringify(post?.blocks ?? [])
const asked = (where: (post: Posted) => boolean) =>
  until(
    () => slack.posts.find((post) => where(post) && blocksOf(post).includes('lunch-pizza')),
    'the buttons',
  )
const reload = async (text: string) => {
  const before = daemon.output().split('is reloaded').length
  site.write('routes.yaml', here(text))
  await until(() => daemon.output().split('is reloaded').length > before, 'the routes')
}
const deliver = async (type: string, payload: JsonObject) => {
  const delivered = await slack.sockets.deliver(type, payload)
  assert.ok(delivered.acked, `${type} was not acknowledged`)
}

describe('a person who follows the page', () => {
  test('has an app with the command and the scopes that it uses', () => {
    const [command] = manifest.features.slash_commands
    assert.ok(routes.includes(`command: ${command.command} `))
    for (const scope of ['chat:write', 'commands', 'app_mentions:read', 'im:history'])
      assert.ok(manifest.oauth_config.scopes.bot.includes(scope), scope)
    assert.ok(manifest.settings.event_subscriptions.bot_events.includes('app_mention'))
    assert.ok(manifest.settings.socket_mode_enabled && manifest.settings.interactivity.is_enabled)
  })

  test('gets buttons for a mention, and an answer for a click', async () => {
    const ts = slack.nextTs()
    await deliver('events_api', callback({ text: '<@U0BOT> hello', ts }))
    const question = await asked((post) => post.thread_ts === ts)
    const actions = [
      { type: 'button', action_id: 'lunch-pizza', block_id: 'b', value: 'pizza', action_ts: '1' },
    ]
    const message = { ts: question.ts, thread_ts: ts }
    const container = { type: 'message', message_ts: question.ts, channel_id: 'C0GEN' }
    await deliver('interactive', clicked({ actions, message, container }))
    await until(
      () => slack.posts.some((post) => post.text.includes('wants pizza') && post.thread_ts === ts),
      'the answer',
    )
  })

  test('gets buttons for a direct message, and for /trivium, which is acknowledged within 3 s', async () => {
    await deliver(
      'events_api',
      callback({ text: 'hi', channel: 'D1ANN', channel_type: 'im', ts: slack.nextTs() }),
    )
    await asked(({ channel }) => channel === 'D1ANN')
    const began = performance.now()
    await deliver('slash_commands', typed(slack, { command: '/trivium', text: '' }))
    await assertPrompt('the acknowledgement', performance.now() - began, 3_000)
    const answer = () => slack.calls.find(({ method }) => method === 'response_url')
    await until(answer, 'the answer to the command')
    assert.match(JSON.stringify(answer()?.args), /lunch-pizza/)
  })

  test('approves with a button; without being an approver, is told how it is decided', async () => {
    const question = (id: string) => () =>
      slack.posts.find((post) => post.thread_ts === id && /Deploy the shop/.test(post.text))
    const say = async () => {
      const ts = slack.nextTs()
      await deliver('events_api', callback({ text: '<@U0BOT> deploy', ts }))
      return until(question(ts), 'the question')
    }
    await reload(withRoutes(deployRoute))
    const mine = await say()
    assert.match(blocksOf(mine), /trivium-approve/)
    const id = /trivium-approval:([^"]+)/.exec(blocksOf(mine))?.[1] ?? ''
    const actions = [
      { action_id: 'trivium-approve', value: id, action_ts: '2', type: 'button', block_id: 'b' },
    ]
    const message = { ts: mine.ts, ...(mine.thread_ts ? { thread_ts: mine.thread_ts } : {}) }
    const by = { user: { id: 'U024BE7LH', team_id: 'T0TEAM' }, channel: { id: 'C0GEN' } }
    await deliver(
      'interactive',
      done({
        type: 'block_actions',
        actions,
        message,
        container: { type: 'message', message_ts: mine.ts, channel_id: 'C0GEN' },
        ...by,
      }),
    )
    await until(() => slack.posts.some(({ text }) => text === 'The shop is deployed.'), 'the deployment')

    site.write('skills/deploy/index.ts', deploy.replace('team:U024BE7LH', 'other:U024BE7LH'))
    await until(async () => {
      const theirs = await say()
      return (
        !blocksOf(theirs).includes('trivium-approve') &&
        /None of its `approvers`.*trivium approval decide/.test(blocksOf(theirs))
      )
    }, 'a question without buttons')
  })

  test('without a model is told that there is no answer, and the operator why', async () => {
    const rest = modelRoutes.slice(modelRoutes.indexOf('routes:'))
    await reload(`${routes.slice(0, routes.indexOf('routes:'))}${rest}`)
    await deliver('events_api', callback({ text: '<@U0BOT> what is Trivium?', ts: slack.nextTs() }))
    const note = () =>
      slack.posts.find(({ ephemeralTo, text }) => ephemeralTo === 'U1ANN' && /could not answer/.test(text))
    await until(note, 'the note')
    const id = /message show (\S+?)`/.exec(note()?.text ?? '')?.[1] ?? ''
    const { out } = await site.run(['message', 'show', id])
    assert.match(out, /model_missing|needs a model/)
  })
})
