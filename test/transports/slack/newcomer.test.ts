// The steps of docs/slack.md for a new user, against the Slack server of the tests.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, test } from 'node:test'
import { parse } from 'yaml'
import type { JsonObject } from '../../../src/core/json.ts'
import { openSite } from '../../fixtures/daemon.ts'
import { assertPrompt } from '../../fixtures/in-time.ts'
import { type Posted, startSlackServer } from '../../fixtures/slack-server.ts'
import { until } from '../../fixtures/until.ts'
import { buttonClick, callback, interactionOf, slashCommand } from './harness.ts'

const page = readFileSync(new URL('../../../docs/slack.md', import.meta.url), 'utf8')
const manifest = parse(readFileSync(new URL('../../../ops/slack-manifest.yaml', import.meta.url), 'utf8'))

/** The code blocks of a language below a heading, without the indent of a list. */
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

/** The routes of the page with new ones in front, as the page instructs. */
const withRoutes = (more: string) => routes.replace('routes:\n', more.slice(more.indexOf('routes:')))
const withApiUrl = (text: string) =>
  text.replace('transport: slack\n', `transport: slack\n    api-url: "${slack.apiUrl}"\n`)

const site = openSite({ routes: withApiUrl(routes) })
site.write('.env', env.replace('xoxb-…', 'xoxb-test').replace('xapp-…', 'xapp-test'))
site.write('skills/lunch/index.ts', lunch)
site.write('skills/deploy/index.ts', deploy)
const daemon = await site.start()
await until(() => slack.sockets.open() === 1, 'a socket')

const blocksOf = (post?: Posted) => JSON.stringify(post?.blocks ?? [])
const buttonsIn = (isWanted: (post: Posted) => boolean) =>
  until(
    () => slack.posts.find((post) => isWanted(post) && blocksOf(post).includes('lunch-pizza')),
    'the buttons',
  )
const reload = async (text: string) => {
  const before = daemon.output().split('is reloaded').length
  site.write('routes.yaml', withApiUrl(text))
  await until(() => daemon.output().split('is reloaded').length > before, 'the routes')
}
const deliver = async (type: string, payload: JsonObject) => {
  const delivered = await slack.sockets.deliver(type, payload)
  assert.ok(delivered.acked, `${type} was not acknowledged`)
}

describe('the newcomer page', () => {
  test('has a manifest with the command and scopes that its routes need', () => {
    const [command] = manifest.features.slash_commands
    assert.ok(routes.includes(`command: ${command.command} `))
    for (const scope of ['chat:write', 'commands', 'app_mentions:read', 'im:history'])
      assert.ok(manifest.oauth_config.scopes.bot.includes(scope), scope)
    assert.ok(manifest.settings.event_subscriptions.bot_events.includes('app_mention'))
    assert.ok(manifest.settings.socket_mode_enabled && manifest.settings.interactivity.is_enabled)
  })

  test('makes a bot that answers a mention with buttons, and a click with text', async () => {
    const ts = slack.nextTs()
    await deliver('events_api', callback({ text: '<@U0BOT> hello', ts }))
    const question = await buttonsIn((post) => post.thread_ts === ts)
    const actions = [
      { type: 'button', action_id: 'lunch-pizza', block_id: 'b', value: 'pizza', action_ts: '1' },
    ]
    const message = { ts: question.ts, thread_ts: ts }
    const container = { type: 'message', message_ts: question.ts, channel_id: 'C0GEN' }
    await deliver('interactive', buttonClick({ actions, message, container }))
    await until(
      () => slack.posts.some((post) => post.text.includes('wants pizza') && post.thread_ts === ts),
      'the answer',
    )
  })

  test('makes a bot that answers direct messages and /trivium, which is acknowledged within 3 s', async () => {
    await deliver(
      'events_api',
      callback({ text: 'hi', channel: 'D1ANN', channel_type: 'im', ts: slack.nextTs() }),
    )
    await buttonsIn(({ channel }) => channel === 'D1ANN')
    const began = performance.now()
    await deliver('slash_commands', slashCommand(slack, { command: '/trivium', text: '' }))
    await assertPrompt('the acknowledgement', performance.now() - began, 3_000)
    const answer = () => slack.calls.find(({ method }) => method === 'response_url')
    await until(answer, 'the answer to the command')
    assert.match(JSON.stringify(answer()?.args), /lunch-pizza/)
  })

  test('shows approvers a button that approves, and without an approver in the channel the command that decides', async () => {
    const questionIn = (thread: string) => () =>
      slack.posts.find((post) => post.thread_ts === thread && /Deploy the shop/.test(post.text))
    const askToDeploy = async () => {
      const ts = slack.nextTs()
      await deliver('events_api', callback({ text: '<@U0BOT> deploy', ts }))
      return until(questionIn(ts), 'the question')
    }
    await reload(withRoutes(deployRoute))
    const mine = await askToDeploy()
    assert.match(blocksOf(mine), /trivium-approve/)
    const id = /trivium-approval:([^"]+)/.exec(blocksOf(mine))?.[1] ?? ''
    const actions = [
      { action_id: 'trivium-approve', value: id, action_ts: '2', type: 'button', block_id: 'b' },
    ]
    const message = { ts: mine.ts, ...(mine.thread_ts ? { thread_ts: mine.thread_ts } : {}) }
    const approver = { user: { id: 'U024BE7LH', team_id: 'T0TEAM' }, channel: { id: 'C0GEN' } }
    await deliver(
      'interactive',
      interactionOf({
        type: 'block_actions',
        actions,
        message,
        container: { type: 'message', message_ts: mine.ts, channel_id: 'C0GEN' },
        ...approver,
      }),
    )
    await until(() => slack.posts.some(({ text }) => text === 'The shop is deployed.'), 'the deployment')

    site.write('skills/deploy/index.ts', deploy.replace('team:U024BE7LH', 'other:U024BE7LH'))
    await until(async () => {
      const theirs = await askToDeploy()
      return (
        !blocksOf(theirs).includes('trivium-approve') &&
        /None of its `approvers`.*trivium approval decide/.test(blocksOf(theirs))
      )
    }, 'a question without buttons')
  })

  test('without a model tells the author that there is no answer, and the operator the reason', async () => {
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
